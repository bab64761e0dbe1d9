import { z } from 'zod'
import { readPublicKey } from '../webhook/proof.ts'

const publicKeySchema = z.string().refine(isPublicKey, 'must be a public key: PEM, or base64 of its DER')
const secretSchema = z.string().min(1, 'must not be empty')
const basicSchema = z.strictObject({
  /** User in the webhook's URL. */
  user: z.string().min(1),
  /** Password in the webhook's URL. */
  password: secretSchema,
})
const trustSchema = z.boolean().default(false)
const topicSchema = z
  .string()
  .regex(/^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[\w.-]+$/, 'must be the ARN of an SNS topic')

/** Providers whose webhooks are accepted at `POST /email/inbound/{provider}`; others get 404. */
export const providersConfigSchema = z.strictObject({
  /** Postal. */
  postal: z
    .strictObject({
      /** The server's signing key, as `postal default-dkim-record` prints it behind `p=`. */
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
      /** Key of the security policy of the parse webhook. */
      public_key: publicKeySchema,
    })
    .optional(),
  /** Postmark. */
  postmark: basicSchema.optional(),
  /** Amazon SES. */
  ses: z
    .strictObject({
      /** SNS topics whose messages the gateway accepts and whose subscriptions it confirms. */
      topics: z.array(topicSchema).min(1),
      /** Believe the provider's verdict on DMARC, if the gateway finds no proof itself. */
      trust_provider_verdict: trustSchema,
    })
    .optional(),
  /** CloudMailin. */
  cloudmailin: basicSchema.optional(),
  /** Forward Email. */
  forwardemail: z
    .strictObject({
      /** The webhook signature payload verification key. */
      secret: secretSchema,
      /** Believe the provider's verdict on DMARC, if the gateway finds no proof itself. */
      trust_provider_verdict: trustSchema,
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
