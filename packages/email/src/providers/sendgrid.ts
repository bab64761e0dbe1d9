import { parseBoundedJson } from '@postern/http'
import { z } from 'zod'
import type { Form } from './form.ts'
import { formText, parseForm } from './form.ts'
import type { MailProvider, ProviderWorld } from './provider.ts'
import { createSeenTokens } from './seen-tokens.ts'
import { checkWebhookShape, clientOf, missingRawMail } from './webhook-body.ts'
import { checkIsSigned, checkPublicSignature, checkWebhookTime, readPublicKey, refuseWebhook } from './webhook-proof.ts'

const [day, minute] = [86_400_000, 60_000]
/** Retries of one webhook come for three days, and nothing says that each is signed anew. */
const window = { past: 4 * day, ahead: 5 * minute }
const envelopeSchema = z.object({ from: z.string().optional(), to: z.array(z.string()) })

/** SendGrid's Inbound Parse with "send raw" and a security policy that signs: ECDSA over time and body. */
export function openSendGrid({ public_key }: { readonly public_key: string }, world: ProviderWorld): MailProvider {
  const key = readPublicKey(public_key)
  const seen = createSeenTokens(() => world.now(), window.past + window.ahead)
  const signatureOf = (headers: Headers) => headers.get('x-twilio-email-event-webhook-signature')
  return {
    checkHeaders: headers => checkIsSigned(headers, 'x-twilio-email-event-webhook-signature'),
    decode({ headers, body }) {
      const timestamp = headers.get('x-twilio-email-event-webhook-timestamp') ?? ''
      const signature = signatureOf(headers)
      if (!signature) throw refuseWebhook('it is not signed')
      checkPublicSignature(signature, Buffer.concat([Buffer.from(timestamp), body]), key)
      checkWebhookTime(timestamp, world.now(), window)
      seen.check(signature)
      return decodeSendGrid(parseForm(headers, body))
    },
    remember({ headers }) {
      const signature = signatureOf(headers)
      if (signature) seen.remember(signature)
    },
  }
}

function decodeSendGrid(form: Form) {
  const octets = form.get('email')
  if (!octets?.length) throw missingRawMail('Switch on "POST the raw, full MIME message".')
  const json = parseBoundedJson(form.get('envelope') ?? Buffer.from('{}'), { what: 'webhook' })
  const { from, to } = checkWebhookShape(json, envelopeSchema)
  const envelope = { ...(from !== undefined && { from }), to, ...clientOf(formText(form, 'sender_ip'), undefined) }
  return { octets, envelope, isLossy: true }
}
