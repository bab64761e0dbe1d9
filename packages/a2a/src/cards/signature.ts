import { loadJose } from '@postern/http/tokens'
import { toCanonicalJson } from '../format/wire.ts'
import type { OwnKey } from '../keys/ring.ts'

/** A signature of a card: a JWS without its payload (A2A §4.4.7). */
export interface CardSignature {
  readonly protected: string
  readonly signature: string
}

/** The signed text: the RFC 8785 form of the card without its signatures (A2A §8.4.1). */
export function toSignedBytes(card: object): Uint8Array {
  const { signatures: _, ...rest } = card as { readonly signatures?: unknown }
  return new TextEncoder().encode(toCanonicalJson(rest))
}

/** Signs a card (A2A §8.4.2, RFC 7515 App. F); the key is published at `jku`. */
export async function signCard(card: object, { privateKey, kid }: OwnKey, jku: string): Promise<CardSignature> {
  const { FlattenedSign } = await loadJose()
  const signed = await new FlattenedSign(toSignedBytes(card))
    .setProtectedHeader({ alg: 'ES256', kid, typ: 'JOSE', jku })
    .sign(privateKey)
  return { protected: signed.protected ?? '', signature: signed.signature }
}
