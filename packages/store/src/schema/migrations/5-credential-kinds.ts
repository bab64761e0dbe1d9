// Adds the kind of the credential to the keys of principals that are chat tokens, API keys or clients.

/** Returns the condition that the owner of a task has `claim` and not `otherClaim`. The owner of a task is `<issuer> <claim> <value>`. */
const isOwnedBy = (claim: 'api_key' | 'client_id', other: 'api_key' | 'client_id') =>
  `t.owner LIKE '% ${claim} %' AND t.owner NOT LIKE '% sub %' AND t.owner NOT LIKE '% ${other} %'`

const nameClaim = (claim: 'api_key' | 'client_id', other: 'api_key' | 'client_id') => `
UPDATE requirements SET subject = '["${claim}",' || substr(subject, 2) WHERE substr(subject, 1, 1) = '[' AND EXISTS
  (SELECT 1 FROM messages m JOIN tasks t ON t.id = m.task_id WHERE m.seq = requirements.message AND ${isOwnedBy(claim, other)});`

/**
 * Separates kinds of credentials. Before this version, the API key "ann", the client "ann" and the chat token "ann" had the same key. Requirements get
 * the key of the decider. The host of a chat token begins with "web.", and hosts of issuers have another label in front. An earlier ban does not tell
 * whether it concerns a client, an API key or an account with a digest in its address, so it applies to all three, as before. The key of a ban contains
 * the principal as a JSON string.
 */
export const renameCredentialKinds: string = String.raw`
UPDATE requirements SET subject = '["chat_token",' || substr(subject, 2) WHERE substr(subject, 1, 1) = '[' AND channel = 'web' AND EXISTS
  (SELECT 1 FROM messages m WHERE m.seq = requirements.message AND json_extract(m.envelope, '$.sender.address') LIKE '@%@web.%');
${nameClaim('api_key', 'client_id')}
${nameClaim('client_id', 'api_key')}

UPDATE records SET key = replace(key, ',"[\"', ',"[\"chat_token\",\"') WHERE kind = 'swarm-ban' AND person LIKE 'web @%@web.%';

INSERT INTO records (kind, owner, key, version, value, person, expires_at)
  SELECT r.kind, r.owner, replace(r.key, ',"[\"', ',"[\"' || c.claim || '\",\"'), r.version, r.value, r.person, r.expires_at
  FROM records r, (SELECT 'api_key' AS claim UNION ALL SELECT 'client_id') c
  WHERE r.kind = 'swarm-ban' AND r.person LIKE 'a2a @%~%';
`
