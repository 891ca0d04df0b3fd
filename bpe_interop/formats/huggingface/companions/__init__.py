"""Companions: the files of transformers beside a tokenizer's own, whatever format this has.

``tokenizer_config.json``, ``special_tokens_map.json`` and ``added_tokens.json`` say what tokens
are for, ``chat_template.jinja`` and ``additional_chat_templates/`` hold chat templates,
``config.json`` and ``generation_config.json`` are the model's own.

- ``files.py`` parses them, and says what they say of roles, chat templates and settings;
- ``tokenizer_json.py`` reads and writes them beside a ``tokenizer.json``, which decides;
- ``other_formats.py`` fills with them what the files of other formats leave unsaid;
- ``auto_class.py`` says which class ``AutoTokenizer`` takes, and what that makes of it all.
"""
