// Authenticates and decodes the webhooks of Postmark.
import { z } from 'zod'
import type { BasicCredentials } from '../webhook/authentication.ts'
import { checkBasicCredentials } from '../webhook/authentication.ts'
import { createMissingMailError, readProviderJson } from '../webhook/body.ts'
import type { MailProvider } from './provider.ts'

const payloadSchema = z.object({ RawEmail: z.string().optional(), OriginalRecipient: z.string() })

/** Opens Postmark's inbound webhook with the raw mail included. The user and password in its URL prove Postmark. */
export function openPostmark(credentials: BasicCredentials): MailProvider {
  return {
    checkHeaders: headers => checkBasicCredentials(headers, credentials),
    decode({ headers, body }) {
      checkBasicCredentials(headers, credentials)
      const { RawEmail, OriginalRecipient } = readProviderJson(headers, body, payloadSchema)
      if (!RawEmail) throw createMissingMailError('Switch on "Include raw email content in JSON payload".')
      return { octets: Buffer.from(RawEmail, 'utf8'), envelope: { to: [OriginalRecipient] }, isLossy: true }
    },
  }
}
