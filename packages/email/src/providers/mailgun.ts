// Authenticates and decodes the webhooks of Mailgun.

import { checkHexHmac, checkWebhookTime, createSeenTokens } from '../webhook/authentication.ts'
import type { Form } from '../webhook/body.ts'
import { createMissingMailError, formText, parseForm, splitAddresses } from '../webhook/body.ts'
import type { MailProvider, ProviderSystem } from './provider.ts'

const [hour, minute] = [3_600_000, 60_000]
/** The accepted age of a webhook, ms. Mailgun retries for eight hours, and may repeat the old signature. */
const timeWindow = { pastMs: 12 * hour, aheadMs: 5 * minute }

/** Opens a Mailgun route whose URL ends in `mime`. The signature is a field of the form, and covers only its time and token. */
export function openMailgun({ signing_key }: { readonly signing_key: string }, system: ProviderSystem): MailProvider {
  const seenTokens = createSeenTokens(system, timeWindow.pastMs + timeWindow.aheadMs)
  const tokens = new WeakMap<object, string>()
  return {
    async decode(request) {
      const form = parseForm(request.headers, request.body)
      const [timestamp, token] = [formText(form, 'timestamp'), formText(form, 'token')]
      checkHexHmac(formText(form, 'signature'), timestamp + token, signing_key)
      checkWebhookTime(timestamp, system.now(), timeWindow)
      seenTokens.check(token)
      const mail = decodeMailgun(form)
      await seenTokens.bind(`mailgun ${token}`, [mail.octets, mail.envelope.from ?? '', ...mail.envelope.to])
      tokens.set(request, token)
      return mail
    },
    remember(request) {
      const token = tokens.get(request)
      if (token) seenTokens.remember(token)
    },
  }
}

function decodeMailgun(form: Form) {
  const octets = form.get('body-mime')
  if (!octets?.length) throw createMissingMailError('Let the URL of the route end in "mime".')
  const envelope = { from: formText(form, 'sender'), to: splitAddresses(formText(form, 'recipient')) }
  return { octets, envelope, isLossy: true }
}
