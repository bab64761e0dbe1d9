// Defines the `email` section of the configuration.
import { isGuessableSecret } from '@postern/http'
import { ConfigError, hasWebhookKey, webhookSecretFix } from '@postern/message'
import { z } from 'zod'
import { answerConfigShape } from './config/answers.ts'
import { mailLimitsSchema } from './config/limits.ts'
import { providersConfigSchema } from './config/providers.ts'
import { listenConfigSchema, submitConfigSchema } from './config/servers.ts'
import { mailTrustSchema } from './config/trust.ts'

/** The schema of the `email` section of the configuration. */
export const emailConfigSchema = z.strictObject({
  /** The settings of `POST /email/inbound`. If they are absent, the route is closed. */
  intake: z
    .strictObject({
      /** The bearer token of the route, which is also the key of its webhook signatures. */
      secret: z.string().refine(hasWebhookKey, webhookSecretFix),
    })
    .optional(),
  /** Webhooks of mail providers at `POST /email/inbound/{provider}`. */
  providers: providersConfigSchema.default({}),
  /** The listener for your mail server. If it is absent there is none, or in dev mode SMTP on port 2525. */
  listen: listenConfigSchema.optional(),
  /** The mail server for outgoing mail. Without it, agents cannot answer mail. */
  submit: submitConfigSchema.optional(),
  /** Signatures of outgoing mail. */
  dkim: z
    .strictObject({
      /** The selector of the RSA key's DNS record. The selector of the Ed25519 key ends in `-ed25519`. */
      selector: z
        .string()
        .regex(/^[a-z0-9]([a-z0-9-]{0,46}[a-z0-9])?$/i, 'must be a DNS label of 48 characters at most')
        .default('postern'),
    })
    .prefault({}),
  /** The proofs of an author that count besides DKIM. */
  trust: mailTrustSchema.prefault({}),
  ...answerConfigShape,
  /** The limits on the cost of one mail. */
  limits: mailLimitsSchema.prefault({}),
})

export type EmailConfig = z.infer<typeof emailConfigSchema>

const guessableSecretFix = 'Use 16 or more random characters.'

/** Returns the errors that make the mail configuration unsafe outside dev mode. */
export function findUnsafeMail({ intake, providers }: EmailConfig): readonly ConfigError[] {
  const { postmark, cloudmailin, forwardemail, mailgun } = providers
  const secrets = [postmark?.password, cloudmailin?.password, forwardemail?.secret, mailgun?.signing_key]
  return [
    ...(isGuessableSecret(intake?.secret)
      ? [new ConfigError('email.intake.secret', 'can be guessed', guessableSecretFix)]
      : []),
    ...(secrets.some(isGuessableSecret)
      ? [new ConfigError('email.providers', 'has a secret that can be guessed', guessableSecretFix)]
      : []),
  ]
}
