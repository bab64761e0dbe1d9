import type { HeaderBlock } from '../mail/header-scan.ts'
import { findField } from '../mail/header-scan.ts'

interface SecurityRule {
  readonly flag: string
  /** Of the message or one of its parts. */
  readonly type: RegExp
}

/** What is only recognised: the part stays a file with its octets, and the agent is told (EM-4.9). */
const rules: readonly SecurityRule[] = [
  { flag: 'smime_signed', type: /^multipart\/signed\b.*pkcs7-signature/i },
  { flag: 'smime_signed', type: /^application\/(?:x-)?pkcs7-mime\b.*smime-type\s*=\s*"?signed-data/i },
  {
    flag: 'smime_encrypted',
    type: /^application\/(?:x-)?pkcs7-mime\b(?!.*smime-type\s*=\s*"?(?:signed-data|certs-only|compressed-data))/i,
  },
  { flag: 'pgp_signed', type: /^multipart\/signed\b.*pgp-signature/i },
  { flag: 'pgp_encrypted', type: /^multipart\/encrypted\b.*pgp-encrypted/i },
  // As some servers rebuild it on the way (Exchange): the parts are there, what held them is not.
  { flag: 'pgp_encrypted', type: /^application\/pgp-encrypted\b/i },
  { flag: 'tnef', type: /^application\/(?:vnd\.)?ms-tnef\b/i },
]

/** Inline armour, at the beginning of a line. */
const armours: readonly (readonly [flag: string, armour: RegExp])[] = [
  ['pgp_encrypted', /^-----BEGIN PGP MESSAGE-----\s*$/m],
  ['pgp_signed', /^-----BEGIN PGP SIGNED MESSAGE-----\s*$/m],
]

interface SecuredMail {
  readonly header: HeaderBlock
  /** Content types of its files, with their names. */
  readonly files: readonly { readonly type: string; readonly name: string | undefined }[]
  readonly text: string
}

/** Flags for a mail that is signed or encrypted by S/MIME or OpenPGP, or wrapped into TNEF. */
export function findSecurityFlags({ header, files, text }: SecuredMail): string[] {
  const types = [findField(header, 'content-type') ?? '', ...files.map(({ type }) => type)]
  const found = rules.filter(({ type }) => types.some(each => type.test(each.slice(0, 2000)))).map(({ flag }) => flag)
  const inline = armours.filter(([, armour]) => armour.test(text)).map(([flag]) => flag)
  const isTnef = files.some(({ name }) => /^winmail\.dat$/i.test(name ?? ''))
  return [...new Set([...found, ...inline, ...(isTnef ? ['tnef'] : [])])]
}
