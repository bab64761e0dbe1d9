import { z } from 'zod'
import { readPublicKey } from '../webhook/proof.ts'

const publicKeySchema = z.string().refine(isPublicKey, 'must be a public key: PEM, or base64 of its DER')
const secretSchema = z.string().min(1, 'must not be empty')
const basicSchema = z.strictObject({ user: z.string().min(1), password: secretSchema })
/** Believe what the provider found out about DMARC where we find no proof ourselves. */
const trustSchema = z.boolean().default(false)
const topicSchema = z
  .string()
  .regex(/^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[\w.-]+$/, 'must be the ARN of an SNS topic')

/** Providers whose webhooks are taken at `POST /email/inbound/{provider}`; what is not here is 404. */
export const providersConfigSchema = z.strictObject({
  /** The server's signing key, as `postal default-dkim-record` prints it behind `p=`. */
  postal: z.strictObject({ public_key: publicKeySchema }).optional(),
  /** The HTTP webhook signing key. */
  mailgun: z.strictObject({ signing_key: z.string().min(16, 'must have 16 characters at least') }).optional(),
  /** Of the security policy that the parse webhook has. */
  sendgrid: z.strictObject({ public_key: publicKeySchema }).optional(),
  /** User and password as they stand in the webhook's URL. */
  postmark: basicSchema.optional(),
  /** Topics whose messages are taken and whose subscriptions are confirmed. */
  ses: z.strictObject({ topics: z.array(topicSchema).min(1), trust_provider_verdict: trustSchema }).optional(),
  cloudmailin: basicSchema.optional(),
  /** The webhook signature payload verification key. */
  forwardemail: z.strictObject({ secret: secretSchema, trust_provider_verdict: trustSchema }).optional(),
})

export type ProvidersConfig = z.infer<typeof providersConfigSchema>

function isPublicKey(text: string): boolean {
  try {
    return readPublicKey(text).type === 'public'
  } catch {
    return false
  }
}
