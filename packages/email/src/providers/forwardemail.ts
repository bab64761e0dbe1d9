// Authenticates and decodes the webhooks of Forward Email.
import { z } from 'zod'
import type { ProvidersConfig } from '../config/providers.ts'
import { checkHexHmac, checkIsSigned } from '../webhook/authentication.ts'
import { createMissingMailError, readClient, readProviderJson, textSchema } from '../webhook/body.ts'
import type { MailProvider } from './provider.ts'

const payloadSchema = z.object({
  raw: z.string().optional(),
  recipients: z.array(z.string()).min(1),
  /** The verdict in the form of the mailauth library. */
  dmarc: z
    .object({ status: z.object({ result: z.string().optional() }).optional() })
    .optional()
    .catch(undefined),
  session: z.object({ sender: textSchema, remoteAddress: textSchema, hostNameAppearsAs: textSchema }).default({}),
})

type ForwardEmailConfig = NonNullable<ProvidersConfig['forwardemail']>

/** Opens Forward Email's webhook, which is authenticated by an HMAC of the body with the domain's key. */
export function openForwardEmail({ secret, trust_provider_verdict }: ForwardEmailConfig): MailProvider {
  return {
    checkHeaders: headers => checkIsSigned(headers, 'x-webhook-signature'),
    decode({ headers, body }) {
      checkHexHmac(headers.get('x-webhook-signature'), body, secret)
      const { raw, recipients, session, dmarc } = readProviderJson(headers, body, payloadSchema)
      if (!raw) throw createMissingMailError('Its webhook must carry "raw".')
      const { sender, remoteAddress, hostNameAppearsAs } = session
      const envelope = {
        ...(sender !== undefined && { from: sender }),
        ...readClient(remoteAddress, hostNameAppearsAs),
      }
      const hasDmarcPass = trust_provider_verdict && dmarc?.status?.result === 'pass'
      return {
        octets: Buffer.from(raw, 'utf8'),
        envelope: { ...envelope, to: recipients },
        isLossy: true,
        hasDmarcPass,
      }
    },
  }
}
