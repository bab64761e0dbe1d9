import base64
import json
import os
import tempfile
import unittest

from postern_agent import data_part, file_part, refuse, require_auth, require_consent, require_payment


class PolicyReplyTests(unittest.TestCase):
    def policy_of(self, reply):
        [part] = reply["parts"]
        self.assertEqual(part["kind"], "policy")
        return part["policy"]

    def test_a_question_has_its_kind_message_and_optional_members(self):
        policy = self.policy_of(require_consent("May I?", code="deliver", approver="operator", sender_message="Wait."))
        expected = {"kind": "consent_required", "message": "May I?", "code": "deliver", "approver": "operator"}
        self.assertEqual(policy, {**expected, "sender_message": "Wait."})

    def test_a_price_is_text(self):
        policy = self.policy_of(require_payment("Please pay.", amount="4.50", currency="EUR", expires_in=600))
        self.assertEqual((policy["kind"], policy["amount"], policy["currency"]), ("payment_required", "4.50", "EUR"))

    def test_require_auth_lists_the_challenges(self):
        policy = self.policy_of(require_auth("Who are you?", challenges=[{"scheme": "oauth2", "url": "https://login.test"}]))
        self.assertEqual((policy["kind"], policy["auth_challenges"][0]["scheme"]), ("unauthorized", "oauth2"))

    def test_a_refusal_has_retry_after_seconds(self):
        policy = self.policy_of(refuse("Later.", kind="too_many_requests", retry_after_seconds=60))
        self.assertEqual(policy, {"kind": "too_many_requests", "message": "Later.", "retry_after_seconds": 60})
        self.assertEqual(self.policy_of(refuse("No."))["kind"], "forbidden")


class PartTests(unittest.TestCase):
    def test_the_name_of_bytes_sets_the_media_type(self):
        part = file_part(b"a,b", name="list.csv", description="A list")
        self.assertEqual((part["mime"], part["size"], part["description"]), ("text/csv", 3, "A list"))
        self.assertEqual(base64.b64decode(part["bytes_ref"]["data_base64"]), b"a,b")

    def test_bytes_without_a_name_get_the_default_media_type(self):
        self.assertNotIn("name", file_part(b"?"))
        self.assertEqual(file_part(b"?")["mime"], "application/octet-stream")

    def test_a_path_sets_the_name_and_the_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.pdf")
            with open(path, "wb") as file:
                file.write(b"%PDF")
            part = file_part(path)
            self.assertEqual((part["name"], part["mime"], part["size"]), ("plan.pdf", "application/pdf", 4))
            self.assertEqual(file_part(path, name="other.bin", mime="image/png")["name"], "other.bin")

    def test_a_value_is_an_artifact_without_bytes(self):
        part = data_part({"order": 1}, name="order.json")
        self.assertEqual(json.loads(json.dumps(part)), {"kind": "artifact", "name": "order.json", "data": {"order": 1}})


if __name__ == "__main__":
    unittest.main()
