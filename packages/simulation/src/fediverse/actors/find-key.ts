/** A document of the other side, parsed. @throws Error when it cannot be had */
export type FetchActorDocument = (url: string) => Promise<Record<string, unknown>>

export interface FoundKey {
  /** Actor IRI. */
  readonly owner: string
  readonly publicKeyPem: string
}

/** Key document → owner → the owner's own document, which must name that very key. @throws Error with the reason */
export async function findKey(keyId: string, fetchDocument: FetchActorDocument): Promise<FoundKey> {
  const keyUrl = keyId.replace(/#.*$/, '')
  const named = readKey(await fetchDocument(keyUrl))
  const owner = named?.owner
  if (typeof owner !== 'string' || new URL(owner).origin !== new URL(keyId).origin) {
    throw new Error(`the key ${keyId} names no owner of its own origin`)
  }
  const actor = await fetchDocument(owner)
  const key = readKey(actor)
  if (actor.id !== owner || key?.id !== keyId || key.owner !== owner || typeof key.publicKeyPem !== 'string') {
    throw new Error(`the actor ${owner} does not own the key ${keyId}`)
  }
  return { owner, publicKeyPem: key.publicKeyPem }
}

function readKey(document: Record<string, unknown>): Record<string, unknown> | undefined {
  const key = document.publicKey ?? (document.publicKeyPem ? document : undefined)
  return typeof key === 'object' && key !== null ? (key as Record<string, unknown>) : undefined
}
