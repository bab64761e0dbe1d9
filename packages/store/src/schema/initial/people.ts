// Defines the tables of the addresses, links, codes and states of people, for each agent.

/** The tables of people. The format of an address is channel, space, `@local@domain`. */
export const peopleSchema = `
-- Addresses that are linked or are being linked. subject: the proven principal of the address, or NULL before its first message.
CREATE TABLE person_addresses (
  agent TEXT NOT NULL,
  address TEXT NOT NULL,
  subject TEXT,
  PRIMARY KEY (agent, address)
) STRICT, WITHOUT ROWID;
-- This index finds the addresses of a principal for all agents.
CREATE INDEX person_addresses_subject ON person_addresses (subject) WHERE subject IS NOT NULL;

-- asked_in, confirmed_in: the messages of the asker that requested the code and that contained it. notice: the response that carried the code to
-- the target.
CREATE TABLE person_links (
  id INTEGER PRIMARY KEY,
  agent TEXT NOT NULL,
  asker TEXT NOT NULL,
  target TEXT NOT NULL,
  asked_in INTEGER NOT NULL,
  confirmed_in INTEGER NOT NULL,
  notice TEXT NOT NULL,
  since INTEGER NOT NULL,
  UNIQUE (agent, asker, target)
) STRICT;

-- Only the digest of a code is stored. notice: the response that carried the code. sent_to: the target without the tag after a +. A code is open
-- while ended_at is NULL, until expires_at. ended_in: the message that contained the code.
CREATE TABLE link_codes (
  message INTEGER PRIMARY KEY,
  agent TEXT NOT NULL,
  asker TEXT NOT NULL,
  asker_host TEXT NOT NULL,
  asker_subject TEXT NOT NULL,
  target TEXT NOT NULL,
  target_subject TEXT,
  sent_to TEXT NOT NULL,
  digest TEXT NOT NULL,
  notice TEXT NOT NULL,
  asked_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  tries INTEGER NOT NULL DEFAULT 0,
  ended_at INTEGER,
  ended_in INTEGER
) STRICT;
CREATE INDEX link_codes_asker ON link_codes (asker, asked_at);
CREATE INDEX link_codes_host ON link_codes (asker_host, asked_at);
CREATE INDEX link_codes_target ON link_codes (target);
CREATE INDEX link_codes_sent_to ON link_codes (sent_to, asked_at);
CREATE INDEX link_codes_oldest ON link_codes (asked_at);

-- The state of an agent for a person in all conversations with that person. person: the first of the person's addresses.
CREATE TABLE person_states (
  agent TEXT NOT NULL,
  person TEXT NOT NULL,
  state TEXT NOT NULL,
  PRIMARY KEY (agent, person)
) STRICT, WITHOUT ROWID;
`
