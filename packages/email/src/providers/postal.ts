// Authenticates and decodes the webhooks of Postal.
import { parseMediaType } from '@postern/http'
import { Rejection } from '@postern/message'
import { z } from 'zod'
import { checkIsSigned, checkPublicSignature, readPublicKey } from '../webhook/authentication.ts'
import { createMissingMailError, formText, parseForm, readProviderJson } from '../webhook/body.ts'
import type { DecodedMail, MailProvider, WebhookRequest } from './provider.ts'

const payloadSchema = z.object({
  message: z.string().optional(),
  rcpt_to: z.string().optional(),
  mail_from: z.string().nullish(),
})

/** Opens a Postal HTTP endpoint in the format "Raw message". Postal signs the body with its RSA key. Its older signature with SHA-1 is ignored. */
export function openPostal({ public_key }: { readonly public_key: string }): MailProvider {
  const key = readPublicKey(public_key)
  return {
    checkHeaders: headers => checkIsSigned(headers, 'x-postal-signature-256'),
    decode(request) {
      checkPublicSignature(request.headers.get('x-postal-signature-256'), request.body, key)
      return decodePostal(request)
    },
  }
}

function decodePostal({ headers, body }: WebhookRequest): DecodedMail {
  const isJson = parseMediaType(headers.get('content-type'))?.type === 'application/json'
  const payload = isJson ? readProviderJson(headers, body, payloadSchema) : readPostalForm(headers, body)
  const { message, rcpt_to, mail_from } = payload
  if (!message) throw createMissingMailError('Choose the format "Raw message" for the HTTP endpoint.')
  if (!rcpt_to) throw new Rejection('malformed', 'Cannot read webhook: "rcpt_to" is missing')
  // A bounce has no sender; Postal writes null for it.
  const envelope = { from: mail_from ?? '', to: [rcpt_to] }
  return { octets: Buffer.from(message, 'base64'), envelope, isLossy: false }
}

function readPostalForm(headers: Headers, body: Buffer): z.infer<typeof payloadSchema> {
  const form = parseForm(headers, body)
  const [message, rcpt_to, mail_from] = ['message', 'rcpt_to', 'mail_from'].map(name => formText(form, name))
  return { message, rcpt_to, mail_from }
}
