// Reports to `postern doctor` why the keys of a trusted issuer cannot be read.

import { parseBoundedJson } from '@postern/http'
import type { System } from '@postern/message'
import type { AttestationAlgorithm } from './connector/connector-card.ts'
import {
  attestationAlgorithms,
  connectorCardPath,
  connectorCardSchema,
  findCardKey,
} from './connector/connector-card.ts'
import { findAssertionKey, listAssertionKeyIds, locateDidDocument } from './did/did-document.ts'
import { documentRequest, EvidenceError } from './format/members.ts'

/** Returns the reason why the evidence of a trusted issuer cannot be verified, or undefined if it can be verified. */
export async function inspectIssuer(
  issuer: string,
  { fetch, now }: Pick<System, 'fetch' | 'now'>,
): Promise<string | undefined> {
  const did = locateDidDocument(issuer)
  const url = did ?? `https://${issuer}${connectorCardPath}`
  try {
    const { status, body } = await fetch(url, documentRequest)
    if (status !== 200) return `${url} answers ${status}`
    const document = parseBoundedJson(body, { maxDepth: 16, label: 'key document' })
    const keyCount = did ? countAssertionKeys(document, issuer, now()) : countCardKeys(document, issuer)
    return keyCount > 0 ? undefined : `${url} has no key that evidence is signed with`
  } catch (error) {
    return `${url}: ${error instanceof Error ? error.message : 'cannot be read'}`
  }
}

function countCardKeys(document: unknown, issuer: string): number {
  const algorithms = Object.keys(attestationAlgorithms) as AttestationAlgorithm[]
  // `findCardKey` throws for a document that is no card, so it is called at least once.
  const keyIds = connectorCardSchema.safeParse(document).data?.keys.map(({ kid }) => kid) ?? ['']
  return keyIds.filter(kid => algorithms.some(alg => findCardKey(document, { issuer, kid, alg }))).length
}

function countAssertionKeys(document: unknown, issuer: string, now: number): number {
  const isUsable = (id: string) => {
    try {
      return findAssertionKey(document, { issuer, id, now }) !== undefined
    } catch (error) {
      if (error instanceof EvidenceError && error.code === 'issuer-controller-mismatch') return false
      throw error
    }
  }
  return listAssertionKeyIds(document, issuer).filter(isUsable).length
}
