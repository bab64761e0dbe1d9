import type { Form } from '../webhook/body.ts'
import { formText, missingRawMail, parseForm, splitAddresses } from '../webhook/body.ts'
import { checkHexHmac, checkWebhookTime, createSeenTokens } from '../webhook/proof.ts'
import type { MailProvider, ProviderPlatform } from './provider.ts'

const [hour, minute] = [3_600_000, 60_000]
/** Retries of one webhook come for eight hours, and may not be signed anew. */
const window = { past: 12 * hour, ahead: 5 * minute }

/** A Mailgun route whose URL ends in `mime`: the signature is in the form and covers its time and token only. */
export function openMailgun(
  { signing_key }: { readonly signing_key: string },
  platform: ProviderPlatform,
): MailProvider {
  const seen = createSeenTokens(platform, window.past + window.ahead)
  const tokens = new WeakMap<object, string>()
  return {
    async decode(request) {
      const form = parseForm(request.headers, request.body)
      const [timestamp, token] = [formText(form, 'timestamp'), formText(form, 'token')]
      checkHexHmac(formText(form, 'signature'), timestamp + token, signing_key)
      checkWebhookTime(timestamp, platform.now(), window)
      seen.check(token)
      const mail = decodeMailgun(form)
      await seen.bind(`mailgun ${token}`, [mail.octets, mail.envelope.from ?? '', ...mail.envelope.to])
      tokens.set(request, token)
      return mail
    },
    remember(request) {
      const token = tokens.get(request)
      if (token) seen.remember(token)
    },
  }
}

function decodeMailgun(form: Form) {
  const octets = form.get('body-mime')
  if (!octets?.length) throw missingRawMail('Let the URL of the route end in "mime".')
  const envelope = { from: formText(form, 'sender'), to: splitAddresses(formText(form, 'recipient')) }
  return { octets, envelope, isLossy: true }
}
