import type { Sql } from '../engine/database.ts'
import { formatJson } from '../engine/database.ts'

interface Claim {
  readonly id: number
  readonly claimed_sender: string
}

/** Removes what was refused and claims to be from somebody. `names`: principals and addresses. Reads all that was refused, a bounded number. Synchronous: inside a write. */
type RemoveClaims = (names: readonly string[]) => void

export function createClaimRemoval(db: Sql): RemoveClaims {
  const list = db.prepare<Claim>('SELECT id, claimed_sender FROM refusals WHERE claimed_sender IS NOT NULL')
  const remove = db.prepare('DELETE FROM refusals WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each(?))')
  return names => {
    const plain = names.map(name => name.replace(/^(?:mailto:|@)/, '').toLowerCase())
    const wanted = plain.filter(name => name !== '')
    const found = list.all().filter(({ claimed_sender }) => wanted.some(name => isNamed(claimed_sender, name)))
    if (found.length > 0) remove.run(formatJson(found.map(({ id }) => id)))
  }
}

/** The name as a whole, wherever it stands: `Ann <ann@home.test>`, an actor's key, a subject with its issuer. */
function isNamed(claim: string, name: string): boolean {
  const text = claim.toLowerCase()
  const at = text.indexOf(name)
  return at >= 0 && !isLetter(text[at - 1]) && !isLetter(text[at + name.length])
}

function isLetter(char: string | undefined): boolean {
  return char !== undefined && /[\w+-]/.test(char)
}
