// Deletes refusals that name a forgotten sender.
import { formatJson } from '../sql/json-columns.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'

interface Claim {
  readonly id: number
  readonly claimed_sender: string
}

/**
 * Deletes the refusals of requests that claimed to be from somebody, and returns their number. `names` are principals and addresses. The deletion
 * reads all refusals, whose number is bounded, and is an operation of a write.
 */
type RemoveClaims = (names: readonly string[]) => Operation<number>

export function createClaimRemoval(db: Sql): RemoveClaims {
  const list = db.prepare<Claim>('SELECT id, claimed_sender FROM refusals WHERE claimed_sender IS NOT NULL')
  const remove = db.prepare('DELETE FROM refusals WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each(?))')
  return function* (names) {
    const plainNames = names.map(name => name.replace(/^(?:mailto:|@)/, '').toLowerCase())
    const wantedNames = plainNames.filter(name => name !== '')
    const claims = (yield* list.all()).filter(({ claimed_sender }) =>
      wantedNames.some(name => containsName(claimed_sender, name)),
    )
    if (claims.length > 0) remove.run(formatJson(claims.map(({ id }) => id)))
    return claims.length
  }
}

/** Returns true if the claim contains the whole name, as in `Ann <ann@home.test>`, in the id of a key, or in a subject with its issuer. */
function containsName(claim: string, name: string): boolean {
  const text = claim.toLowerCase()
  const index = text.indexOf(name)
  return index >= 0 && !isNameChar(text[index - 1]) && !isNameChar(text[index + name.length])
}

function isNameChar(char: string | undefined): boolean {
  return char !== undefined && /[\w+-]/.test(char)
}
