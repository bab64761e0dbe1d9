import type { KeyObject } from 'node:crypto'
import { sign, verify } from 'node:crypto'
import { decodeBase58, encodeBase58, hashCanonicalJson } from '@postern/core'
import { EvidenceFault } from '../format/members.ts'

type Members = Readonly<Record<string, unknown>>

interface SecuredDocument {
  /** Without `proof`. */
  readonly unsecured: Members
  /** The proof without `proofValue`; it contains the document's own `@context`. */
  readonly options: Members
}

const signatureLength = 64

/** The text that `eddsa-jcs-2022` signs (vc-di-eddsa §3.3): the hash of the options, then that of the document. @throws EvidenceFault */
export function integrityInput({ unsecured, options }: SecuredDocument): Buffer {
  try {
    return Buffer.concat([hashCanonicalJson(options), hashCanonicalJson(unsecured)])
  } catch (cause) {
    throw new EvidenceFault('malformed', 'it has no canonical form', { cause })
  }
}

/** `key`: Ed25519. */
export function isIntegrityProof(input: Buffer, key: KeyObject, proofValue: string): boolean {
  const signature = proofValue.startsWith('z') ? decodeBase58(proofValue.slice(1)) : undefined
  return signature?.length === signatureLength && verify(null, input, key, signature)
}

export function writeProofValue(input: Buffer, privateKey: KeyObject): string {
  return `z${encodeBase58(sign(null, input, privateKey))}`
}
