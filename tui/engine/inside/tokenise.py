"""Turn prompts into the token ids that vLLM would see: one JSON body a line in, one list of ids a line out.

    tokenise.py MODEL [CHAT_TEMPLATE_FILE]

Run by the engine's interpreter: needs its transformers. Python 3.9 syntax.
"""

import json
import os
import re
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["USE_TORCH"] = "0"

# A template that walks through the parts of a message gets them; for any other, vLLM joins the texts by line ends.
_PARTS = re.compile(r"for\s+\w+\s+in\s+\w+(\[['\"]content['\"]\]|\.content)")


def main(model, template=None):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    if template:
        with open(template, encoding="utf-8") as file:
            tokenizer.chat_template = file.read()
    walks = bool(_PARTS.search(str(tokenizer.chat_template)))
    for line in sys.stdin:
        try:
            answer = ids(tokenizer, json.loads(line), walks)
        except Exception as error:
            answer = {"error": "%s: %s" % (type(error).__name__, error)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def ids(tokenizer, body, walks):
    if "messages" not in body:
        prompt = body.get("prompt")
        if isinstance(prompt, list):
            return prompt
        return tokenizer(prompt, add_special_tokens=body.get("add_special_tokens", True))["input_ids"]
    messages = body["messages"] if walks else [joined(message) for message in body["messages"]]
    text = tokenizer.apply_chat_template(
        messages,
        tools=body.get("tools") or None,
        documents=body.get("documents") or None,
        chat_template=body.get("chat_template"),
        add_generation_prompt=body.get("add_generation_prompt", True),
        continue_final_message=body.get("continue_final_message", False),
        tokenize=False,
        **(body.get("chat_template_kwargs") or {}),
    )
    return tokenizer(text, add_special_tokens=body.get("add_special_tokens", False))["input_ids"]


def joined(message):
    content = message.get("content")
    if isinstance(content, list):
        return dict(message, content="\n".join(part.get("text", "") for part in content))
    return message


if __name__ == "__main__":
    main(*sys.argv[1:])
