// Defines the settings of mail providers that bring mail by webhook.
import { z } from 'zod'
import { readPublicKey } from '../webhook/authentication.ts'

const publicKeySchema = z.string().refine(isPublicKey, 'must be a public key: PEM, or base64 of its DER')
const secretSchema = z.string().regex(/\S/, 'must not be empty')
const basicCredentialsSchema = z.strictObject({
  /** The user name in the webhook's URL. */
  user: z.string().min(1),
  /** The password in the webhook's URL. */
  password: secretSchema,
})
const verdictTrustSchema = z.boolean().default(false)
const topicSchema = z
  .string()
  .regex(/^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[\w.-]+$/, 'must be the ARN of an SNS topic')

/** The providers whose webhooks are accepted at `POST /email/inbound/{provider}`. Requests of other providers get 404. */
export const providersConfigSchema = z.strictObject({
  /** Postal. */
  postal: z
    .strictObject({
      /** The server's signing key, as `postal default-dkim-record` prints it after `p=`. */
      public_key: publicKeySchema,
    })
    .optional(),
  /** Mailgun. */
  mailgun: z
    .strictObject({
      /** The HTTP webhook signing key. */
      signing_key: z.string().min(16, 'must have 16 characters at least'),
    })
    .optional(),
  /** SendGrid. */
  sendgrid: z
    .strictObject({
      /** The key of the security policy of the parse webhook. */
      public_key: publicKeySchema,
    })
    .optional(),
  /** Postmark. */
  postmark: basicCredentialsSchema.optional(),
  /** Amazon SES. */
  ses: z
    .strictObject({
      /** SNS topics whose messages the gateway accepts and whose subscriptions it confirms. */
      topics: z.array(topicSchema).min(1),
      /** True if the provider's DMARC verdict is trusted when the gateway itself finds no proof. */
      trust_provider_verdict: verdictTrustSchema,
    })
    .optional(),
  /** CloudMailin. */
  cloudmailin: basicCredentialsSchema.optional(),
  /** Forward Email. */
  forwardemail: z
    .strictObject({
      /** The webhook signature payload verification key. */
      secret: secretSchema,
      /** True if the provider's DMARC verdict is trusted when the gateway itself finds no proof. */
      trust_provider_verdict: verdictTrustSchema,
    })
    .optional(),
})

export type ProvidersConfig = z.infer<typeof providersConfigSchema>

function isPublicKey(text: string): boolean {
  try {
    return readPublicKey(text).type === 'public'
  } catch {
    return false
  }
}
