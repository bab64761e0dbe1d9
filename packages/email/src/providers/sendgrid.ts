// Authenticates and decodes the webhooks of SendGrid.
import { createHash } from 'node:crypto'
import { parseBoundedJson } from '@postern/http'
import { z } from 'zod'
import {
  checkIsSigned,
  checkPublicSignature,
  checkWebhookTime,
  createSeenTokens,
  readPublicKey,
} from '../webhook/authentication.ts'
import type { Form } from '../webhook/body.ts'
import { checkWebhookShape, createMissingMailError, formText, parseForm, readClient } from '../webhook/body.ts'
import type { MailProvider, ProviderSystem, WebhookRequest } from './provider.ts'

const [signatureHeader, timestampHeader] = [
  'x-twilio-email-event-webhook-signature',
  'x-twilio-email-event-webhook-timestamp',
] as const
const [dayMs, minuteMs] = [86_400_000, 60_000]
/** The accepted age of a webhook, ms. SendGrid retries for three days, and may repeat the old signature. The fourth day allows for delays. */
const timeWindow = { pastMs: 4 * dayMs, aheadMs: 5 * minuteMs }
const envelopeSchema = z.object({ from: z.string().optional(), to: z.array(z.string()) })

/** Opens SendGrid's Inbound Parse with "send raw" and a security policy that signs the time and the body with ECDSA. */
export function openSendGrid({ public_key }: { readonly public_key: string }, system: ProviderSystem): MailProvider {
  const key = readPublicKey(public_key)
  const seenTokens = createSeenTokens(system, timeWindow.pastMs + timeWindow.aheadMs)
  // The token is the hash of the signed text, because the signature itself has many valid encodings.
  const digestRequest = ({ headers, body }: WebhookRequest) =>
    createHash('sha256')
      .update(`${headers.get(timestampHeader)}`)
      .update(body)
      .digest('base64')
  return {
    checkHeaders: headers => checkIsSigned(headers, signatureHeader),
    decode(request) {
      const { headers, body } = request
      const timestamp = headers.get(timestampHeader) ?? ''
      checkPublicSignature(headers.get(signatureHeader), Buffer.concat([Buffer.from(timestamp), body]), key)
      checkWebhookTime(timestamp, system.now(), timeWindow)
      seenTokens.check(digestRequest(request))
      return decodeSendGrid(parseForm(headers, body))
    },
    remember: request => seenTokens.remember(digestRequest(request)),
  }
}

function decodeSendGrid(form: Form) {
  const octets = form.get('email')
  if (!octets?.length) throw createMissingMailError('Switch on "POST the raw, full MIME message".')
  const json = parseBoundedJson(form.get('envelope') ?? Buffer.from('{}'), { label: 'webhook' })
  const { from, to } = checkWebhookShape(json, envelopeSchema)
  const envelope = { ...(from !== undefined && { from }), to, ...readClient(formText(form, 'sender_ip'), undefined) }
  return { octets, envelope, isLossy: true }
}
