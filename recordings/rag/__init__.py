"""A small RAG program: BM25 over a folder of Markdown files, any OpenAI-compatible server.

    cd recordings
    python -m rag --url http://127.0.0.1:8000 --model NAME "How many days of leave do I have?"

It needs `bm25s` and the standard library. See README.md beside this package.
"""
