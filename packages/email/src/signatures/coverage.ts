// Limits a header to the fields that a proof covers, which alone may decide anything.

import type { MailAddresses } from '../mail/address-list.ts'
import type { HeaderBlock, HeaderField } from '../mail/header.ts'
import { fieldValues, findField } from '../mail/header.ts'
import { couldSignFor, readTag } from './signature-field.ts'

/**
 * Lower-case names of the fields that a proof covers. A name occurs once for each covered field of that name, counted
 * from the bottom (RFC 6376 §5.4.2). `all` means that the delivering server vouches for the whole header, or that
 * nothing is proven.
 */
export type Coverage = readonly string[] | 'all'

/** Returns the header without the fields that somebody may have added or changed although the proof is still valid. */
export function selectCovered(header: HeaderBlock, coverage: Coverage): HeaderBlock {
  if (coverage === 'all') return header
  const isCovered = createConsumer(coverage)
  const fields = header.fields.toReversed().filter(({ name }) => isCovered(name))
  return { ...header, fields: fields.toReversed() }
}

/** Fields that determine the thread, the subject and the reading of a mail. */
const coverableFields = [
  ...['to', 'cc', 'subject', 'date', 'message-id', 'reply-to', 'in-reply-to', 'references'],
  ...['content-type', 'content-transfer-encoding'],
]

/**
 * Returns the header fields that the proof of the author covers, or all fields if the author is not proven. A signature
 * stays valid if somebody adds a field that it does not name, so such a field must decide nothing.
 */
export function applyCoverage(header: HeaderBlock, { to, cc }: Pick<MailAddresses, 'to' | 'cc'>, coverage: Coverage) {
  const signedHeader = selectCovered(header, coverage)
  const hasSignedField = (name: string) => findField(signedHeader, name) !== undefined
  const uncoveredNames = coverableFields.filter(
    name => fieldValues(signedHeader, name).length < fieldValues(header, name).length,
  )
  return {
    signedHeader,
    /** The recipients that the covered fields name. */
    signedRecipients: { to: hasSignedField('to') ? to : [], cc: hasSignedField('cc') ? cc : [] },
    /** The flags of fields that the proof does not cover, such as `unsigned_to`. */
    flags: uncoveredNames.map(name => `unsigned_${name.replaceAll('-', '_')}`),
  }
}

/**
 * Returns the fields that every possible signature of the author covers (`h=`), verified or not. It returns undefined
 * if the author has no signature. The result serves verdicts that do not name their signature. If `isSealed` is true,
 * the message signatures of an ARC chain count too, because they may prove the author.
 */
export function readSharedCoverage(
  header: HeaderBlock,
  authorDomain: string,
  isSealed = false,
): readonly string[] | undefined {
  const seals = isSealed ? header.fields.filter(({ name }) => name === 'arc-message-signature') : []
  const lists = [...listCandidates(header, authorDomain), ...seals].map(field =>
    readTag(field, 'h').toLowerCase().split(':'),
  )
  return lists.length === 0 ? undefined : lists.reduce((left, right) => left.filter(createConsumer(right)))
}

/**
 * Returns true if a signature of the author limits the signed part of the body (`l=`), so that somebody may have
 * appended text.
 */
export function allowsAppendedText(header: HeaderBlock, authorDomain: string): boolean {
  return listCandidates(header, authorDomain).some(field => readTag(field, 'l') !== '')
}

function listCandidates({ fields }: HeaderBlock, authorDomain: string): readonly HeaderField[] {
  return fields.filter(field => field.name === 'dkim-signature' && couldSignFor(field, authorDomain))
}

/** Returns a function that removes a name from a copy of `names`, and returns true if the name was still there. */
function createConsumer(names: readonly string[]): (name: string) => boolean {
  const remainingCounts = new Map<string, number>()
  for (const name of names) remainingCounts.set(name, (remainingCounts.get(name) ?? 0) + 1)
  return name => {
    const count = remainingCounts.get(name) ?? 0
    remainingCounts.set(name, count - 1)
    return count > 0
  }
}
