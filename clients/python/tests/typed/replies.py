"""Every reply that the docs name has the type of a reply. A type checker reads this file; nothing runs it."""

from postern_agent import (
    Answer,
    Reply,
    data_part,
    file_part,
    refuse,
    require_auth,
    require_consent,
    require_payment,
)

replies: list[Reply] = [
    {"text": "*Markdown*"},
    {"parts": [{"kind": "text", "content": "Markdown"}]},
    {"parts": [{"kind": "text", "mime": "text/plain", "content": "plain"}], "status": "input_required"},
    {"parts": [{"kind": "file", "name": "a.pdf", "bytes_ref": {"kind": "inline", "data_base64": ""}}]},
    {"parts": [{"kind": "file", "mime": "image/png", "bytes_ref": {"kind": "url", "url": "https://shop.example/a.png"}}]},
    {"parts": [{"kind": "artifact", "name": "order.json", "data": {"order": 1}}]},
    {"parts": [{"kind": "artifact", "artifact_type": "table", "bytes_ref": {"kind": "inline", "data_base64": ""}}]},
    {"parts": [{"kind": "link", "url": "https://shop.example/", "title": "Shop", "description": "A page"}]},
    {"parts": [{"kind": "tool_call", "id": "1", "name": "count", "args": {}, "result": 3}]},
    {"parts": [{"kind": "tool_call", "id": "1", "name": "count", "error": {"message": "away"}}]},
    {"parts": [{"kind": "policy", "policy": {"kind": "consent_required", "message": "May I?"}}]},
    {
        "parts": [
            {
                "kind": "policy",
                "policy": {
                    "kind": "consent_required",
                    "message": "May I refund it?",
                    "approver": "operator",
                    "sender_message": "Please wait.",
                    "notify": "eve@shop.example",
                    "expires_in": 600,
                    "action_label": "Yes",
                    "title": "Refund",
                    "code": "refund",
                    "data": {"example.shop/order": 17},
                    "message_translations": {"de": {"message": "Darf ich?"}},
                },
            }
        ]
    },
    {"parts": [{"kind": "policy", "policy": {"kind": "payment_required", "message": "!", "amount": "4.50", "currency": "EUR"}}]},
    {
        "parts": [
            {
                "kind": "policy",
                "policy": {
                    "kind": "unauthorized",
                    "message": "Who are you?",
                    "auth_challenges": [{"scheme": "oauth2", "url": "https://login.example"}],
                },
            }
        ]
    },
    {"parts": [{"kind": "policy", "policy": {"kind": "too_many_requests", "message": "Later.", "retry_after_seconds": 60}}]},
    {"text": "as a bare message", "as": "message"},
    {"text": "to others, too", "mentions": ["@bob@people.example"], "visibility": "followers", "subject": "News"},
    {"text": "counted", "usage": [{"model": "large", "input_tokens": 812, "output_tokens": 96}]},
    {"text": "remembered", "person_state": {"seen": 2}},
    {"notes": [{"type": "action", "tool": "count", "args": {}}, {"type": "observation", "content": 3}]},
    {
        "acts": [
            {"act": "post", "parts": [{"kind": "text", "content": "News"}], "visibility": "public"},
            {"act": "post", "parts": [file_part(b"")], "via": "email", "mentions": ["@bob@people.example"], "subject": "News"},
            {"act": "edit", "response": "0" * 32, "parts": [{"kind": "text", "content": "Newer"}]},
            {"act": "delete", "response": "0" * 32},
            {"act": "like"},
            {"act": "boost", "message": "https://people.example/1"},
        ]
    },
    {"parts": [file_part(b"a,b", name="list.csv"), data_part({"order": 1}, name="order.json")]},
    require_consent("May I?", action_label="Yes", approver="operator", data={"example.shop/order": 17}),
    require_payment("Please pay.", amount="4.50", currency="EUR", expires_in=600),
    require_auth("Who are you?", challenges=[{"scheme": "oauth2"}]),
    refuse("No.", kind="service_unavailable", retry_after_seconds=60, code="closed"),
]
answers: list[Answer] = ["Markdown", None, *replies]
