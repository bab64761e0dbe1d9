import { ConfigError } from '@postern/core'
import { isGuessableSecret } from '@postern/http'
import type { EmailConfig } from './config.ts'

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
