import time
import unittest

from calls import KEY, MESSAGE, SECRET, sign
from postern_agent import SignatureError, has_identity, text_of, verify_webhook

try:
    import standardwebhooks
except ImportError:
    standardwebhooks = None

BODY = b'{"text": "h\xc3\xa4llo"}'


class TakesGenuineCalls(unittest.TestCase):
    def test_a_call_that_was_signed_with_the_secret_is_taken(self):
        at = int(time.time())
        call = verify_webhook(SECRET, sign(BODY, at=at), BODY)
        self.assertEqual((call.id, call.sent_at), ("msg_1", at))

    def test_names_of_fields_may_be_written_in_any_case(self):
        headers = {name.title(): value for name, value in sign(BODY).items()}
        self.assertEqual(verify_webhook(SECRET, headers, BODY).id, "msg_1")

    def test_a_secret_may_lack_its_padding_or_be_plain_text(self):
        for secret, key in [("whsec_c2hvcnQ", b"short"), ("whsec_c2hvcnQ=", b"short"), ("plain", b"plain")]:
            self.assertEqual(verify_webhook(secret, sign(BODY, key=key), BODY).id, "msg_1")

    def test_both_secrets_are_valid_during_a_rotation(self):
        self.assertEqual(verify_webhook(["another", SECRET], sign(BODY), BODY).id, "msg_1")
        headers = sign(BODY)
        headers["webhook-signature"] = f"v1,AAAA v2,zzzz {headers['webhook-signature']}"
        self.assertEqual(verify_webhook(SECRET, headers, BODY).id, "msg_1")

    @unittest.skipUnless(standardwebhooks, "standardwebhooks is not installed")
    def test_signatures_of_the_standardwebhooks_library_are_valid(self):
        from datetime import datetime, timezone

        now = datetime.now(timezone.utc)
        signature = standardwebhooks.Webhook(SECRET).sign("msg_2", now, BODY.decode())
        headers = {
            "webhook-id": "msg_2",
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": signature,
        }
        self.assertEqual(verify_webhook(SECRET, headers, BODY).id, "msg_2")


class RefusesOthers(unittest.TestCase):
    def refuses(self, headers, body=BODY, secret=SECRET):
        with self.assertRaises(SignatureError):
            verify_webhook(secret, headers, body)

    def test_a_changed_body_id_or_time_is_refused(self):
        headers = sign(BODY)
        self.refuses(headers, BODY + b" ")
        self.refuses({**headers, "webhook-id": "msg_2"})
        self.refuses({**headers, "webhook-timestamp": str(int(headers["webhook-timestamp"]) + 1)})

    def test_another_secret_is_refused(self):
        self.refuses(sign(BODY, key=b"another"))

    def test_a_call_of_long_ago_or_from_the_future_is_refused(self):
        for offset in (-301, 302):
            self.refuses(sign(BODY, at=time.time() + offset))
        self.assertEqual(verify_webhook(SECRET, sign(BODY, at=1000), BODY, now=1300).sent_at, 1000)

    def test_a_call_without_one_of_its_fields_is_refused(self):
        for missing in sign(BODY):
            self.refuses({name: value for name, value in sign(BODY).items() if name != missing})

    def test_an_invalid_timestamp_is_refused(self):
        for timestamp in ("", "-1", "1e9", "٣", "9" * 5000, " 1", "nan"):
            self.refuses({**sign(BODY), "webhook-timestamp": timestamp})

    def test_an_invalid_signature_is_refused(self):
        genuine = sign(BODY)["webhook-signature"].removeprefix("v1,")
        for signature in ("", "v1,", "v1,%%%", "v1,é", f"v2,{genuine}", genuine, f"v1 {genuine}", "v1," + genuine[:-4]):
            self.refuses({**sign(BODY), "webhook-signature": signature})

    def test_an_invalid_secret_raises_value_error(self):
        for secret in ("", " ", "whsec_", "whsec_%%%", [], [""]):
            with self.assertRaises(ValueError):
                verify_webhook(secret, sign(BODY), BODY)


class MessageTests(unittest.TestCase):
    def test_text_of_joins_all_text_parts(self):
        self.assertEqual(text_of(MESSAGE), "häll\u2028o\n\ntwo")

    def test_has_identity_needs_one_identity_with_all_members(self):
        self.assertTrue(has_identity(MESSAGE))
        self.assertTrue(has_identity(MESSAGE, assurance="address", subject_prefix="mailto:alice@"))
        self.assertFalse(has_identity(MESSAGE, assurance="address", subject="mailto:bob@people.test"))
        self.assertFalse(has_identity(MESSAGE, issuer="people.test", method="x"))
        self.assertFalse(has_identity({**MESSAGE, "sender": {"address": "@a@b.test", "verified": False}}))
        two = [{**MESSAGE["sender"]["identities"][0], "issuer": "other.test", "assurance": "domain"}]
        both = {**MESSAGE["sender"], "identities": [*MESSAGE["sender"]["identities"], *two]}
        self.assertFalse(has_identity({**MESSAGE, "sender": both}, issuer="other.test", assurance="address"))


if __name__ == "__main__":
    unittest.main()
