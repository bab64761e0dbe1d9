// Recognizes mail that is signed or encrypted by S/MIME or OpenPGP, or wrapped into TNEF.
import type { HeaderBlock } from '../mail/header.ts'
import { findField } from '../mail/header.ts'

/**
 * Content types of signed, encrypted and wrapped messages or parts. The gateway only flags them (EM-4.9). The part
 * stays a file with its original octets.
 */
const securityRules: readonly { readonly flag: string; readonly type: RegExp }[] = [
  { flag: 'smime_signed', type: /^multipart\/signed\b.*pkcs7-signature/i },
  { flag: 'smime_signed', type: /^application\/(?:x-)?pkcs7-mime\b.*smime-type\s*=\s*"?signed-data/i },
  {
    flag: 'smime_encrypted',
    type: /^application\/(?:x-)?pkcs7-mime\b(?!.*smime-type\s*=\s*"?(?:signed-data|certs-only|compressed-data))/i,
  },
  { flag: 'pgp_signed', type: /^multipart\/signed\b.*pgp-signature/i },
  { flag: 'pgp_encrypted', type: /^multipart\/encrypted\b.*pgp-encrypted/i },
  // Some servers (Exchange) rebuild the message in transit. The parts remain, but the multipart around them is lost.
  { flag: 'pgp_encrypted', type: /^application\/pgp-encrypted\b/i },
  { flag: 'tnef', type: /^application\/(?:vnd\.)?ms-tnef\b/i },
]

/** The patterns of inline armour at the beginning of a line. */
const armours: readonly (readonly [flag: string, armour: RegExp])[] = [
  ['pgp_encrypted', /^-----BEGIN PGP MESSAGE-----\s*$/m],
  ['pgp_signed', /^-----BEGIN PGP SIGNED MESSAGE-----\s*$/m],
]

const pkcs7Type = /^application\/(?:x-)?pkcs7-mime\b/i

interface SecuredMail {
  readonly header: HeaderBlock
  /** The content types of the message's files, with their names. */
  readonly files: readonly { readonly type: string; readonly name: string | undefined }[]
  readonly text: string
  /** True if the message was inside an S/MIME signature and was read. */
  readonly isOpened: boolean
}

/** Returns the flags for a mail that is signed or encrypted by S/MIME or OpenPGP, or wrapped into TNEF. */
export function findSecurityFlags({ header, files, text, isOpened }: SecuredMail): string[] {
  const type = findField(header, 'content-type') ?? ''
  // The file itself is more reliable than the type of the message, which may lack its kind.
  const isKnownByFile = isOpened || (files.length > 0 && pkcs7Type.test(type))
  const types = [...(isKnownByFile ? [] : [type]), ...files.map(file => file.type)]
  const rules = securityRules.filter(rule => types.some(type => rule.type.test(type.slice(0, 2000))))
  const inlineFlags = text.includes('-----BEGIN PGP ')
    ? armours.filter(([, armour]) => armour.test(text)).map(([flag]) => flag)
    : []
  const isTnef = files.some(({ name }) => /^winmail\.dat$/i.test(name ?? ''))
  return [
    ...new Set([
      ...(isOpened ? ['smime_signed'] : []),
      ...rules.map(({ flag }) => flag),
      ...inlineFlags,
      ...(isTnef ? ['tnef'] : []),
    ]),
  ]
}
