import { ConfigError } from '@postern/core'
import { isGuessableSecret } from '@postern/http'
import { z } from 'zod'
import { answerConfigShape } from './config/answers.ts'
import { mailLimitsSchema } from './config/limits.ts'
import { providersConfigSchema } from './config/providers.ts'
import { listenConfigSchema, submitConfigSchema } from './config/servers.ts'
import { mailTrustSchema } from './config/trust.ts'

/** The `email` slice of the configuration. */
export const emailConfigSchema = z.strictObject({
  /** `POST /email/inbound`; absent: closed. */
  intake: z
    .strictObject({
      /** Bearer token of the route, or key of its webhook signature. */
      secret: z.string().min(1, 'must not be empty'),
    })
    .optional(),
  /** Webhooks of mail providers at `POST /email/inbound/{provider}`. */
  providers: providersConfigSchema.default({}),
  /** A socket for your mail server; absent: none, in dev mode SMTP on port 2525. */
  listen: listenConfigSchema.optional(),
  /** The mail server that takes outgoing mail; without it agents cannot answer mail. */
  submit: submitConfigSchema.optional(),
  /** Signatures of outgoing mail. */
  dkim: z
    .strictObject({
      /** Selector of the RSA key's DNS record; the Ed25519 key has `-ed25519` behind it. */
      selector: z
        .string()
        .regex(/^[a-z0-9]([a-z0-9-]{0,46}[a-z0-9])?$/i, 'must be a DNS label of 48 characters at most')
        .default('postern'),
    })
    .prefault({}),
  /** What counts as a proof of the author beside DKIM. */
  trust: mailTrustSchema.prefault({}),
  ...answerConfigShape,
  /** What one mail may cost. */
  limits: mailLimitsSchema.prefault({}),
})

export type EmailConfig = z.infer<typeof emailConfigSchema>

const longer = 'Use 16 or more random characters.'

/** What makes the configuration of mail unsafe outside of dev mode. */
export function findUnsafeMail({ intake, providers }: EmailConfig): readonly ConfigError[] {
  const { postmark, cloudmailin, forwardemail, mailgun } = providers
  const secrets = [postmark?.password, cloudmailin?.password, forwardemail?.secret, mailgun?.signing_key]
  return [
    ...(isGuessableSecret(intake?.secret) ? [new ConfigError('email.intake.secret', 'can be guessed', longer)] : []),
    ...(secrets.some(isGuessableSecret)
      ? [new ConfigError('email.providers', 'has a secret that can be guessed', longer)]
      : []),
  ]
}
