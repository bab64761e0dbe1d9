import type { HeaderBlock, HeaderField } from '../mail/header-scan.ts'
import { canonicalFields, withoutSignature } from './canonical-field.ts'
import type { DkimSignature } from './signature.ts'

/** A message with CRLF line ends, and its header. */
export interface SignedMessage {
  readonly octets: Buffer
  readonly header: HeaderBlock
}

interface SignedFields {
  /** The DKIM-Signature itself. */
  readonly field: HeaderField
  /** The fields that it covers, in the order of `h=`. */
  readonly signed: readonly HeaderField[]
}

/** Finds the fields of an `h=`: of each name the lowest first, and none twice (RFC 6376 §5.4.2). */
export function indexFields({ fields }: HeaderBlock): (names: readonly string[]) => HeaderField[] {
  const byName = new Map<string, HeaderField[]>()
  for (const field of fields) {
    const known = byName.get(field.name)
    if (known) known.push(field)
    else byName.set(field.name, [field])
  }
  return names => {
    const taken = new Map<string, number>()
    return names.flatMap(name => {
      const count = (taken.get(name) ?? 0) + 1
      taken.set(name, count)
      return byName.get(name)?.at(-count) ?? []
    })
  }
}

/** The octets that are signed: the fields, and the signature without its value and its line end (RFC 6376 §3.7). */
export function joinSigned(
  octets: Buffer,
  { fieldForm }: Pick<DkimSignature, 'fieldForm'>,
  { signed, field }: SignedFields,
): Buffer {
  const canonicalize = canonicalFields[fieldForm]
  const lines = signed.map(each => canonicalize(readLine(octets, each)))
  return Buffer.from([...lines, withoutSignature(canonicalize(readLine(octets, field)))].join('\r\n'), 'latin1')
}

function readLine(octets: Buffer, { start, end }: HeaderField): string {
  const line = octets.toString('latin1', start, end)
  return line.endsWith('\r\n') ? line.slice(0, -2) : line
}
