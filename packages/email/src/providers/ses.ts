// Authenticates and decodes the notifications of Amazon SES.
import { parseBoundedJson } from '@postern/http'
import { z } from 'zod'
import type { ProvidersConfig } from '../config/providers.ts'
import { checkWebhookShape, createMissingMailError } from '../webhook/body.ts'
import type { DecodedMail, MailProvider, ProviderSystem } from './provider.ts'
import { createSnsVerifier, snsSchema } from './sns.ts'

const receivedSchema = z.object({
  notificationType: z.string(),
  content: z.string().optional(),
  mail: z.object({ source: z.string().optional() }).optional(),
  receipt: z
    .object({
      recipients: z.array(z.string()),
      dmarcVerdict: z.object({ status: z.string().optional() }).optional(),
      action: z.object({ encoding: z.string().optional() }).optional(),
    })
    .optional(),
})

type SesConfig = NonNullable<ProvidersConfig['ses']>

/**
 * Opens Amazon SES, which delivers mail by an SNS action over an HTTPS subscription of a configured topic. SNS sends
 * JSON with the content type `text/plain`.
 */
export function openSes({ topics, trust_provider_verdict }: SesConfig, system: ProviderSystem): MailProvider {
  const sns = createSnsVerifier(topics, system)
  return {
    async decode({ body }) {
      const message = checkWebhookShape(parseBoundedJson(body, { label: 'webhook' }), snsSchema)
      await sns.verify(message)
      if (message.Type === 'SubscriptionConfirmation') await sns.confirm(message)
      if (message.Type === 'Notification') return decodeNotification(message.Message, trust_provider_verdict)
      system.log.info({ topic: message.TopicArn, type: message.Type }, 'subscription of Amazon SNS changed')
      return undefined
    },
  }
}

function decodeNotification(text: string, isTrusted: boolean): DecodedMail | undefined {
  const json = parseBoundedJson(Buffer.from(text), { label: 'notification' })
  const { notificationType, content, mail, receipt } = checkWebhookShape(json, receivedSchema)
  if (notificationType !== 'Received') return undefined
  if (!content || !receipt) throw createMissingMailError('Use an SNS action with the encoding Base64.')
  // If the notification does not name the encoding, a colon shows raw mail, because base64 has no colon.
  const isBase64 = receipt.action?.encoding?.toUpperCase() === 'BASE64' || !content.slice(0, 4096).includes(':')
  return {
    octets: Buffer.from(content, isBase64 ? 'base64' : 'utf8'),
    envelope: { ...(mail?.source !== undefined && { from: mail.source }), to: receipt.recipients },
    isLossy: !isBase64,
    hasDmarcPass: isTrusted && receipt.dmarcVerdict?.status === 'PASS',
  }
}
