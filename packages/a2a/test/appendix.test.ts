import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const testFolder = new URL('./', import.meta.url)
const sources = readdirSync(testFolder, { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.test.ts') && name !== 'appendix.test.ts')
  .map(name => readFileSync(new URL(name, testFolder), 'utf8'))

/** Every MUST of the official kit's list (docs/conformance/a2a.md), with the title of our test that checks it. */
const musts: Readonly<Record<string, string>> = {
  'CORE-SEND-001': 'SendMessage waits for the agent and answers with the completed task',
  'CORE-SEND-002': 'fails when the task has ended (A2A-T03)',
  'CORE-SEND-003': 'with a part of an undeclared media type gets -32005 (A2A-M18)',
  'CORE-STREAM-001': 'begins with the task, ends with its end, and is an event stream (CORE-STREAM-001, -003, MN-3)',
  'CORE-STREAM-002': 'sends a bare message of an agent as a task, never both (CORE-STREAM-002)',
  'CORE-STREAM-003': 'begins with the task, ends with its end, and is an event stream (CORE-STREAM-001, -003, MN-3)',
  'CORE-GET-001': 'shows the same task as SendMessage (CORE-GET-001)',
  'CORE-GET-002': 'an unknown task, and a task of another caller (A2A-T01, A2A-T02)',
  'CORE-LIST-001': 'shows the caller’s own tasks with this agent, newest first, without artifacts (CORE-LIST)',
  'CORE-LIST-002': 'has every task once in its pages, and ends with an empty token (CORE-LIST-002)',
  'CORE-LIST-003': 'shows the caller’s own tasks with this agent, newest first, without artifacts (CORE-LIST)',
  'CORE-LIST-004': 'has every task once in its pages, and ends with an empty token (CORE-LIST-002)',
  'CORE-LIST-005': 'shows the caller’s own tasks with this agent, newest first, without artifacts (CORE-LIST)',
  'CORE-CANCEL-001': 'ends an open task, and the agent learns of it (CORE-CANCEL-001)',
  'CORE-CANCEL-002': 'refuses a task that has ended (A2A-T06)',
  'CORE-CANCEL-003': 'an unknown task, and a task of another caller (A2A-T01, A2A-T02)',
  'CORE-EXECUTION-MODE-001': 'SendMessage waits for the agent and answers with the completed task',
  'CORE-EXECUTION-MODE-002': 'returns at once when asked to',
  'CORE-ERR-001': 'status and reason identify the fault (HTTP_JSON-STATUS-001)',
  'CORE-ERR-002': 'the gateway refuses an incomplete message and names the wrong member',
  'CORE-CAP-001':
    'without push, the gateway refuses all four methods and the inline configuration (A2A-P13, CORE-CAP-001)',
  'CORE-CAP-002': 'without streaming the gateway refuses it with an ordinary response (A2A-S02, CORE-CAP-002)',
  'CORE-CAP-003': 'the extended card (A2A-A19)',
  'CORE-CAP-004': 'must appear in a call if the card requires them (A2A-V06)',
  'CORE-MULTI-001a': 'SendMessage waits for the agent and answers with the completed task',
  'CORE-MULTI-002a': 'can read a task whose id they know, but list none',
  'CORE-MULTI-003': 'may have an id of the client, and its tasks share one thread',
  'CORE-MULTI-004': 'an unknown task, and a task of another caller (A2A-T01, A2A-T02)',
  'CORE-MULTI-005': 'takes the context from it (CORE-MULTI-005)',
  'CORE-MULTI-006': 'fails with the context of another task, without naming the true one (A2A-T04)',
  'CORE-HIST-002': 'has a chronological history of at most the requested length with the original text (CORE-HIST)',
  'DM-TASK-001':
    'a task matches the protobuf file, without loss or unknown members (DM-TASK-001, DM-MSG-001, DM-ART-001, DM-STATUS-001)',
  'DM-MSG-001':
    'a task matches the protobuf file, without loss or unknown members (DM-TASK-001, DM-MSG-001, DM-ART-001, DM-STATUS-001)',
  'DM-ART-001':
    'a task matches the protobuf file, without loss or unknown members (DM-TASK-001, DM-MSG-001, DM-ART-001, DM-STATUS-001)',
  'DM-STATUS-001':
    'a task matches the protobuf file, without loss or unknown members (DM-TASK-001, DM-MSG-001, DM-ART-001, DM-STATUS-001)',
  'DM-TASK-002':
    'every event of a stream is a StreamResponse, without loss or unknown members (DM-TASK-002, DM-MSG-002)',
  'DM-MSG-002':
    'every event of a stream is a StreamResponse, without loss or unknown members (DM-TASK-002, DM-MSG-002)',
  'DM-PART-001': 'a part has exactly one content (DM-PART-001)',
  'DM-SERIAL-001':
    'members have camelCase names, enum names and UTC times, and required ones are present (DM-SERIAL-001..004)',
  'DM-SERIAL-002':
    'members have camelCase names, enum names and UTC times, and required ones are present (DM-SERIAL-001..004)',
  'DM-SERIAL-003':
    'members have camelCase names, enum names and UTC times, and required ones are present (DM-SERIAL-001..004)',
  'DM-SERIAL-004':
    'members have camelCase names, enum names and UTC times, and required ones are present (DM-SERIAL-001..004)',
  'STREAM-ORDER-001':
    'shows a late listener the current state, then the same events as others (A2A-S08, STREAM-ORDER-001..003)',
  'STREAM-ORDER-002':
    'shows a late listener the current state, then the same events as others (A2A-S08, STREAM-ORDER-001..003)',
  'STREAM-ORDER-003':
    'shows a late listener the current state, then the same events as others (A2A-S08, STREAM-ORDER-001..003)',
  'STREAM-ORDER-004':
    'an abort frees its listener at once, without effect on the task and others (A2A-S03, STREAM-ORDER-004)',
  'STREAM-SUB-001': 'shows the task first and lasts until its end: %o (STREAM-SUB-001, -002)',
  'STREAM-SUB-002': 'shows the task first and lasts until its end: %o (STREAM-SUB-001, -002)',
  'STREAM-SUB-003': 'for an ended task gets a refusal as an ordinary answer (A2A-S01, STREAM-SUB-003)',
  'STREAM-SUB-004': 'for the task of another caller gets the answer for no task (A2A-T02, STREAM-SUB-004)',
  'PUSH-CREATE-001':
    'come back to their owner without credentials (PUSH-CREATE-001, -002, PUSH-GET-001, PUSH-LIST-001)',
  'PUSH-CREATE-002': 'get, list, subscribe and notifications continue from the store after a restart (A2A-S07)',
  'PUSH-GET-001': 'come back to their owner without credentials (PUSH-CREATE-001, -002, PUSH-GET-001, PUSH-LIST-001)',
  'PUSH-GET-002': 'disappear on deletion, and a second deletion is no error (PUSH-DEL-001, -002, PUSH-GET-002)',
  'PUSH-LIST-001': 'come back to their owner without credentials (PUSH-CREATE-001, -002, PUSH-GET-001, PUSH-LIST-001)',
  'PUSH-DEL-001': 'disappear on deletion, and a second deletion is no error (PUSH-DEL-001, -002, PUSH-GET-002)',
  'PUSH-DEL-002': 'disappear on deletion, and a second deletion is no error (PUSH-DEL-001, -002, PUSH-GET-002)',
  'PUSH-DELIVER-001':
    'are StreamResponses with the credentials and the token, one for each end of a turn (PUSH-DELIVER-001..003)',
  'PUSH-DELIVER-002':
    'are StreamResponses with the credentials and the token, one for each end of a turn (PUSH-DELIVER-001..003)',
  'PUSH-DELIVER-003':
    'are StreamResponses with the credentials and the token, one for each end of a turn (PUSH-DELIVER-001..003)',
  'CARD-DISC-001': 'the card of the default agent is public and complete (A2A-A20)',
  'CARD-PROTO-001': 'the card of the default agent is public and complete (A2A-A20)',
  'CARD-PROTO-002': 'every agent has its own card with its own endpoint',
  'CARD-STRUCT-001': 'the card of the default agent is public and complete (A2A-A20)',
  'CARD-EXT-001': 'the extended card (A2A-A19)',
  'CARD-EXT-002': 'needs a credential of a caller',
  'CARD-SIGN-001': 'every card reads the same by every canonicalization rule:',
  'CARD-SIGN-002': 'the official verifier accepts %s',
  'CARD-SIGN-003': 'has a signature with the id and the URL of a published key',
  'CARD-SIGN-004': 'a signed card (A2A-C06)',
  'AUTH-SERVER-002': 'a call without a credential (A2A-A01)',
  'AUTH-SCOPE-001': 'answer for another caller’s task exactly as for an unknown one (A2A-T02, BIND-EQUIV-004)',
  'AUTH-SCOPE-002': 'shows the caller’s own tasks with this agent, newest first, without artifacts (CORE-LIST)',
  'AUTH-SCOPE-003': 'an unknown task, and a task of another caller (A2A-T01, A2A-T02)',
  'VER-CLIENT-001': 'states what it is, its caller and the length of the chain',
  'VER-CLIENT-002': 'the gateway accepts its own versions',
  'VER-SERVER-001': 'the gateway refuses a method of the other version without guessing (A2A-E10)',
  'VER-SERVER-002': 'the gateway refuses any other version, and never guesses',
  'VER-SERVER-003': 'a missing version means 0.3, and its methods work (VER-SERVER-003)',
  'BIND-EQUIV-001': 'the official client over %s',
  'BIND-EQUIV-002': 'both bindings (BIND-EQUIV-002)',
  'BIND-EQUIV-003': 'refuse with the same words, for the same reason (BIND-EQUIV-003)',
  'BIND-EQUIV-004': 'answer for another caller’s task exactly as for an unknown one (A2A-T02, BIND-EQUIV-004)',
  'BIND-FIELD-001': 'the card of the default agent is public and complete (A2A-A20)',
  'JSONRPC-FMT-001': 'the gateway refuses a malformed request',
  'JSONRPC-FMT-002': 'an error before the first event is an ordinary response (STREAM)',
  'JSONRPC-SVC-001': 'the official client over %s',
  'JSONRPC-SVC-002': 'the gateway accepts its own versions',
  'JSONRPC-ERR-001': 'the gateway refuses a malformed request',
  'JSONRPC-ERR-002': 'refuse with the same words, for the same reason (BIND-EQUIV-003)',
  'JSONRPC-ERR-003': 'the gateway refuses a malformed request',
  'JSONRPC-SSE-001': 'begins with the task, ends with its end, and is an event stream (CORE-STREAM-001, -003, MN-3)',
  'JSONRPC-SSE-002': 'for an ended task gets a refusal as an ordinary answer (A2A-S01, STREAM-SUB-003)',
  'AUTH-TLS-001': 'listens without TLS only on loopback or behind a proxy (AUTH-TLS-001)',
  'GRPC-SVC-001': 'has the service of the protobuf file, in proto3 (GRPC-SVC-001, GRPC-SVC-002)',
  'GRPC-SVC-002': 'has the service of the protobuf file, in proto3 (GRPC-SVC-001, GRPC-SVC-002)',
  'GRPC-SVC-003': 'uses TLS with files (GRPC-SVC-003)',
  'GRPC-META-001': 'reads version and extensions from the metadata (GRPC-META-001)',
  'GRPC-ERR-001': 'gives A2A errors their codes and ErrorInfo (GRPC-ERR-001, GRPC-ERR-002)',
  'GRPC-ERR-002': 'gives A2A errors their codes and ErrorInfo (GRPC-ERR-001, GRPC-ERR-002)',
  'GRPC-ERR-003': 'sends the messages of a streaming method, and ends the stream (GRPC-ERR-003)',
  'HTTP_JSON-URL-001': 'every unary operation has its path (HTTP_JSON-URL-001)',
  'HTTP_JSON-URL-002': '%s %s answers 405 (HTTP_JSON-URL-002, A2A-E20)',
  'HTTP_JSON-SVC-001': 'the media type of the answer (HTTP_JSON-SVC-001)',
  'HTTP_JSON-SVC-002': 'the gateway accepts the version in the query (A2A-V04)',
  'HTTP_JSON-QP-001': 'with SendMessage, GetTask and ListTasks for each agent and the default one',
  'HTTP_JSON-ERR-001': 'status and reason identify the fault (HTTP_JSON-STATUS-001)',
  'HTTP_JSON-ERR-002': 'status and reason identify the fault (HTTP_JSON-STATUS-001)',
  'HTTP_JSON-STATUS-001': 'status and reason identify the fault (HTTP_JSON-STATUS-001)',
  'HTTP_JSON-SSE-001': 'begins with the task, ends with its end, and is an event stream (CORE-STREAM-001, -003, MN-3)',
  'AUTH-INTASK-001':
    'an agent that needs credentials says so in a task: AUTH_REQUIRED, and how to give them (AUTH-INTASK-001, -002, -003)',
  'AUTH-INTASK-002':
    'an agent that needs credentials says so in a task: AUTH_REQUIRED, and how to give them (AUTH-INTASK-001, -002, -003)',
  'AUTH-INTASK-003':
    'an agent that needs credentials says so in a task: AUTH_REQUIRED, and how to give them (AUTH-INTASK-001, -002, -003)',
  'AUTH-INTASK-004':
    'the task accepts the next message after the credentials came outside of it (AUTH-INTASK-004, -006)',
}

test.each(Object.entries(musts))('a test covers %s: %s', (_, title) => {
  const quoted = new RegExp(`['"\`]${title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}`)
  expect(sources.some(source => quoted.test(source))).toBe(true)
})

/** The number of rules of each kind that docs/conformance/a2a.md lists. */
const rows = { E: 22, V: 8, M: 22, T: 14, S: 8, P: 13, A: 21, C: 11 } as const

test.each(Object.entries(rows))('a test names every row %s', (kind, count) => {
  const allIds = Array.from({ length: count }, (_, index) => `A2A-${kind}${String(index + 1).padStart(2, '0')}`)
  const inTitle = (id: string) => new RegExp(`['"\`][^'"\`\\n]*\\b${id}\\b`)
  const missingIds = allIds.filter(id => !sources.some(source => inTitle(id).test(source)))
  expect(missingIds).toEqual([])
})
