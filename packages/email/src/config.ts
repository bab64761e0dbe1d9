import { z } from 'zod'
import { answerConfigShape } from './config/answers.ts'
import { mailLimitsSchema } from './config/limits.ts'
import { listenConfigSchema } from './config/listen.ts'
import { providersConfigSchema } from './config/providers.ts'
import { submitConfigSchema } from './config/submit.ts'
import { mailTrustSchema } from './config/trust.ts'

/** The `email` slice of the configuration. */
export const emailConfigSchema = z.strictObject({
  intake: z.strictObject({ secret: z.string().min(1, 'must not be empty') }).optional(),
  /** Webhooks of mail providers. */
  providers: providersConfigSchema.default({}),
  listen: listenConfigSchema.optional(),
  submit: submitConfigSchema.optional(),
  dkim: z
    .strictObject({
      selector: z
        .string()
        .regex(/^[a-z0-9]([a-z0-9-]{0,46}[a-z0-9])?$/i, 'must be a DNS label of 48 characters at most')
        .default('postern'),
    })
    .prefault({}),
  trust: mailTrustSchema.prefault({}),
  ...answerConfigShape,
  limits: mailLimitsSchema.prefault({}),
})

export type EmailConfig = z.infer<typeof emailConfigSchema>
