// Writes the cases of evidence to `fixtures/identity`.
import { writeFileSync } from 'node:fs'
import { attestationCases, connectorCards } from './attestation-cases.ts'
import { credentialCases, didDocuments } from './credential-cases.ts'
import { audience, messageId, now, timeAt, trustedIssuers } from './fixtures.ts'

/** The text of each file of `fixtures/identity`, which is the same each time. */
export const fixtureFiles: Readonly<Record<string, string>> = {
  'v0.1.json': toText(connectorCards, attestationCases),
  'v0.2.json': toText(didDocuments, credentialCases),
}

function toText(documents: object, cases: readonly object[]): string {
  const message = { audience, message_id: messageId, received_at: timeAt(0), received_at_ms: now }
  return `${JSON.stringify({ message, trusted_issuers: trustedIssuers, documents, cases }, undefined, 1)}\n`
}

/** `node packages/identity/test/write-fixtures.ts` writes them again. */
if (import.meta.main) {
  for (const [name, text] of Object.entries(fixtureFiles)) {
    writeFileSync(new URL(`../../../fixtures/identity/${name}`, import.meta.url), text)
  }
}
