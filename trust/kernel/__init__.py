"""The native kernel beside Python: of each input, both answers, to the last entry and message.

Files, merges, models and texts are small and random (:mod:`.files`, :mod:`.merges`,
:mod:`.models`, :mod:`.texts`, :mod:`.pieces`, :mod:`.training`); :mod:`.works` lists what is done
with them.
"""
