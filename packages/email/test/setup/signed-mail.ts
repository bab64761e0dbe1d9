// Signs a mail, and posts it to the gateway.
import type { KeyObject } from 'node:crypto'
import type { MailGateway } from './gateway.ts'
import { createDkimKey, keyRecord, signText } from './sign.ts'

/** A mail by its lines, signed in a domain that the test publishes. */
export interface SignedMail {
  readonly domain: string
  readonly lines: readonly string[]
  /** The signed fields. The default is every field of the mail. */
  readonly fields?: readonly string[]
  readonly envelope?: Readonly<Record<string, string>>
}

let key: KeyObject | undefined

/** Signs the mail and posts it. Its DKIM key is in the DNS of the simulation. */
export async function postSignedMail(gateway: MailGateway, { domain, lines, fields, envelope }: SignedMail) {
  key ??= createDkimKey(2048)
  gateway.simulation.dns.set(`own._domainkey.${domain}`, { TXT: [keyRecord(key)] })
  const fieldNames = lines.slice(0, lines.indexOf('')).flatMap(line => /^([\w-]+):/.exec(line)?.[1] ?? [])
  const octets = signText(`${lines.join('\n')}\n`, { domain, selector: 'own', key, fields: fields ?? fieldNames })
  return gateway.post(Buffer.from(octets, 'latin1'), envelope)
}
