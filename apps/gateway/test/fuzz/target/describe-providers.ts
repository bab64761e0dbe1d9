// Configures the mail providers of the gateway under attack.
import { generateKeyPairSync } from 'node:crypto'

export const providerPassword = 'password-of-the-fuzz-run'

/** Configures every mail provider, so that its endpoint exists. */
export function describeProviders(): object {
  const { publicKey: rsa } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const { publicKey: curve } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const pem = { type: 'spki', format: 'pem' } as const
  const basic = { user: 'fuzz', password: providerPassword }
  return {
    postal: { public_key: rsa.export(pem) },
    mailgun: { signing_key: providerPassword },
    sendgrid: { public_key: curve.export(pem) },
    postmark: basic,
    ses: { topics: ['arn:aws:sns:eu-west-1:123456789012:mail'] },
    cloudmailin: basic,
    forwardemail: { secret: providerPassword },
  }
}
