// Limits a header to the fields that a proof covers, which alone may decide anything.

import type { MailAddresses } from '../mail/address-list.ts'
import type { HeaderBlock, HeaderField } from '../mail/header.ts'
import { fieldValues, findField } from '../mail/header.ts'
import { couldSignFor, readTag } from './signature-field.ts'

/**
 * Lower-case names of the fields that a proof covers. A name occurs once for each covered field of that name, counted
 * from the bottom (RFC 6376 §5.4.2). `all` means that the delivering server is the proof, or that there is none.
 */
export type Coverage = readonly string[] | 'all'

/** Returns the header without the fields that others may have added or changed under the proof. */
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
 * Returns the header fields that nobody can have added or changed under the proof of the author, or all of them if the
 * author is not proven. A signed mail stays signed if somebody adds a field that the signature does not name: such a
 * field must decide nothing.
 */
export function readCovered(header: HeaderBlock, { to, cc }: Pick<MailAddresses, 'to' | 'cc'>, coverage: Coverage) {
  const signedHeader = selectCovered(header, coverage)
  const has = (name: string) => findField(signedHeader, name) !== undefined
  const uncoveredNames = coverableFields.filter(
    name => fieldValues(signedHeader, name).length < fieldValues(header, name).length,
  )
  return {
    signedHeader,
    /** The people whom the covered fields name. */
    signedRecipients: { to: has('to') ? to : [], cc: has('cc') ? cc : [] },
    /** `unsigned_to` and the like, for fields that the proof does not cover. */
    flags: uncoveredNames.map(name => `unsigned_${name.replaceAll('-', '_')}`),
  }
}

/**
 * Returns the fields that every possible signature of the author covers (`h=`), verified or not, or undefined if the
 * author has no signature. It serves verdicts that do not name their signature. `isSealed` adds the message signatures
 * of an ARC chain, which may prove the author too.
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

/** Returns true if a signature of the author leaves the end of the body open (`l=`), where others may have added text. */
export function leavesEndOpen(header: HeaderBlock, authorDomain: string): boolean {
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
