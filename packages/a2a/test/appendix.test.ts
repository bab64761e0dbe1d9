import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const here = new URL('./', import.meta.url)
const sources = readdirSync(here)
  .filter(name => name.endsWith('.test.ts'))
  .map(name => readFileSync(new URL(name, here), 'utf8'))

/** Every MUST of the official kit's list (a2a.md, appendix A), and the beginning of the test of ours that holds it. */
const musts: Readonly<Record<string, string>> = {
  'CORE-SEND-001': 'SendMessage waits for the agent and answers with the completed task',
  'CORE-SEND-002': 'T03 is refused when the task has ended',
  'CORE-SEND-003': 'M18 a part of a media type that is not declared',
  'CORE-STREAM-001': 'CORE-STREAM-001, -003 begins with the task',
  'CORE-STREAM-002': 'CORE-STREAM-002 an agent that answers with a bare message',
  'CORE-STREAM-003': 'CORE-STREAM-001, -003 begins with the task',
  'CORE-GET-001': 'CORE-GET-001 shows the task as SendMessage left it',
  'CORE-GET-002': 'T01, T02 no such task, and the task of another',
  'CORE-LIST-001': 'CORE-LIST shows the own tasks with this agent',
  'CORE-LIST-002': 'CORE-LIST-002 pages hold every task once',
  'CORE-LIST-003': 'CORE-LIST shows the own tasks with this agent, newest first',
  'CORE-LIST-004': 'CORE-LIST-002 pages hold every task once and end with an empty token',
  'CORE-LIST-005': 'CORE-LIST shows the own tasks with this agent, newest first, without artifacts',
  'CORE-CANCEL-001': 'CORE-CANCEL-001 ends an open task',
  'CORE-CANCEL-002': 'T06 a task that has ended is not cancelable',
  'CORE-CANCEL-003': 'T01, T02 no such task, and the task of another',
  'CORE-EXECUTION-MODE-001': 'SendMessage waits for the agent and answers with the completed task',
  'CORE-EXECUTION-MODE-002': 'returns at once when asked to',
  'CORE-ERR-001': 'HTTP_JSON-STATUS-001 what is wrong is told by status and reason',
  'CORE-ERR-002': 'a message that is not whole is refused with the member that is wrong',
  'CORE-CAP-001': 'P13, CORE-CAP-001 where push is off',
  'CORE-CAP-002': 'S02, CORE-CAP-002 where streaming is off',
  'CORE-CAP-003': 'A19 the extended card',
  'CORE-CAP-004': 'V06 one that is required and was not named is refused',
  'CORE-MULTI-001a': 'SendMessage waits for the agent and answers with the completed task',
  'CORE-MULTI-002a': 'read a task by knowing its id, and list none',
  'CORE-MULTI-003': 'one that a client chooses is taken and kept; its tasks share one thread',
  'CORE-MULTI-004': 'T01, T02 no such task, and the task of another',
  'CORE-MULTI-005': 'CORE-MULTI-005 takes the context from it',
  'CORE-MULTI-006': 'T04 with the context of another is refused',
  'CORE-HIST-002': 'CORE-HIST history is chronological, at most as long as asked',
  'DM-TASK-001': 'DM-TASK-001, DM-MSG-001, DM-ART-001, DM-STATUS-001',
  'DM-MSG-001': 'DM-TASK-001, DM-MSG-001, DM-ART-001, DM-STATUS-001',
  'DM-ART-001': 'DM-TASK-001, DM-MSG-001, DM-ART-001, DM-STATUS-001',
  'DM-STATUS-001': 'DM-TASK-001, DM-MSG-001, DM-ART-001, DM-STATUS-001',
  'DM-TASK-002': 'DM-TASK-002, DM-MSG-002 every event of a stream',
  'DM-MSG-002': 'DM-TASK-002, DM-MSG-002 every event of a stream',
  'DM-PART-001': 'DM-PART-001 a part holds exactly one content',
  'DM-SERIAL-001': 'DM-SERIAL-001..004 names are camelCase',
  'DM-SERIAL-002': 'DM-SERIAL-001..004 names are camelCase',
  'DM-SERIAL-003': 'DM-SERIAL-001..004 names are camelCase',
  'DM-SERIAL-004': 'DM-SERIAL-001..004 names are camelCase',
  'STREAM-ORDER-001': 'S08, STREAM-ORDER-001..003 who joins late',
  'STREAM-ORDER-002': 'S08, STREAM-ORDER-001..003 who joins late',
  'STREAM-ORDER-003': 'S08, STREAM-ORDER-001..003 who joins late',
  'STREAM-ORDER-004': 'S03, STREAM-ORDER-004 an abort frees its listener',
  'STREAM-SUB-001': 'STREAM-SUB-001, -002 shows the task first',
  'STREAM-SUB-002': 'STREAM-SUB-001, -002 shows the task first',
  'STREAM-SUB-003': 'S01, STREAM-SUB-003 a task that has ended',
  'STREAM-SUB-004': 'T02, STREAM-SUB-004 the task of another',
  'PUSH-CREATE-001': 'PUSH-CREATE-001, -002, GET-001, LIST-001',
  'PUSH-CREATE-002': 'S07 after a restart get, list, subscribe and notifications go on',
  'PUSH-GET-001': 'PUSH-CREATE-001, -002, GET-001, LIST-001',
  'PUSH-GET-002': 'PUSH-DEL-001, -002, GET-002',
  'PUSH-LIST-001': 'PUSH-CREATE-001, -002, GET-001, LIST-001',
  'PUSH-DEL-001': 'PUSH-DEL-001, -002, GET-002',
  'PUSH-DEL-002': 'PUSH-DEL-001, -002, GET-002',
  'PUSH-DELIVER-001': '-001..-003 are StreamResponses, with the credentials',
  'PUSH-DELIVER-002': '-001..-003 are StreamResponses, with the credentials',
  'PUSH-DELIVER-003': '-001..-003 are StreamResponses, with the credentials',
  'CARD-DISC-001': 'A20 the card of the default agent is public and complete',
  'CARD-PROTO-001': 'A20 the card of the default agent is public and complete',
  'CARD-PROTO-002': 'every agent has its own card with its own endpoint',
  'CARD-STRUCT-001': 'A20 the card of the default agent is public and complete',
  'CARD-EXT-001': 'A19 the extended card',
  'CARD-EXT-002': 'is refused to those who are let in without a credential',
  'CARD-SIGN-001': 'every card reads the same by every rule of canonicalization',
  'CARD-SIGN-002': 'the official verifier takes %s',
  'CARD-SIGN-003': 'verifies by the published keys, and names them',
  'CARD-SIGN-004': 'C06 a signed card',
  'AUTH-SERVER-002': 'A01 no credential',
  'AUTH-SCOPE-001': 'BIND-EQUIV-004 T02 the task of another is not found',
  'AUTH-SCOPE-002': 'CORE-LIST shows the own tasks with this agent',
  'AUTH-SCOPE-003': 'T01, T02 no such task, and the task of another',
  'VER-CLIENT-001': 'says what it is, who calls, and how long the chain is',
  'VER-CLIENT-002': 'a version we speak is taken',
  'VER-SERVER-001': 'E10 a method of the other version is refused, never guessed',
  'VER-SERVER-002': 'any other is refused, never guessed',
  'VER-SERVER-003': 'VER-SERVER-003 no version means it',
  'BIND-EQUIV-001': 'the official client over %s',
  'BIND-EQUIV-002': 'BIND-EQUIV-002 both bindings answer with one result',
  'BIND-EQUIV-003': 'BIND-EQUIV-003 and refuse in the same words',
  'BIND-EQUIV-004': 'BIND-EQUIV-004 T02 the task of another is not found',
  'BIND-FIELD-001': 'A20 the card of the default agent is public and complete',
  'JSONRPC-FMT-001': 'a request that is none is refused',
  'JSONRPC-FMT-002': 'STREAM what is wrong before the first event is an ordinary answer',
  'JSONRPC-SVC-001': 'the official client over %s',
  'JSONRPC-SVC-002': 'a version we speak is taken',
  'JSONRPC-ERR-001': 'a request that is none is refused',
  'JSONRPC-ERR-002': 'BIND-EQUIV-003 and refuse in the same words',
  'JSONRPC-ERR-003': 'a request that is none is refused',
  'JSONRPC-SSE-001': 'CORE-STREAM-001, -003 begins with the task',
  'JSONRPC-SSE-002': 'S01, STREAM-SUB-003 a task that has ended',
  'AUTH-TLS-001': 'AUTH-TLS-001 without TLS it listens on loopback only',
  'GRPC-SVC-001': 'GRPC-SVC-001, GRPC-SVC-002 is the service',
  'GRPC-SVC-002': 'GRPC-SVC-001, GRPC-SVC-002 is the service',
  'GRPC-SVC-003': 'GRPC-SVC-003 TLS, by files',
  'GRPC-META-001': 'GRPC-META-001 version and extensions are metadata',
  'GRPC-ERR-001': 'GRPC-ERR-001, GRPC-ERR-002 errors of A2A',
  'GRPC-ERR-002': 'GRPC-ERR-001, GRPC-ERR-002 errors of A2A',
  'GRPC-ERR-003': 'GRPC-ERR-003 a streaming method tells many messages',
  'HTTP_JSON-URL-001': 'HTTP_JSON-URL-001 every unary operation has its path',
  'HTTP_JSON-URL-002': 'HTTP_JSON-URL-002 E20 %s %s: 405',
  'HTTP_JSON-SVC-001': 'HTTP_JSON-SVC-001 the type of the answer',
  'HTTP_JSON-SVC-002': 'V04 the version may stand in the query',
  'HTTP_JSON-QP-001': 'SendMessage, GetTask, ListTasks, for the default agent',
  'HTTP_JSON-ERR-001': 'HTTP_JSON-STATUS-001 what is wrong is told by status and reason',
  'HTTP_JSON-ERR-002': 'HTTP_JSON-STATUS-001 what is wrong is told by status and reason',
  'HTTP_JSON-STATUS-001': 'HTTP_JSON-STATUS-001 what is wrong is told by status and reason',
  'HTTP_JSON-SSE-001': 'CORE-STREAM-001, -003 begins with the task',
  'AUTH-INTASK-001': 'AUTH-INTASK-001, -002, -003 an agent that needs credentials says so in a task',
  'AUTH-INTASK-002': 'AUTH-INTASK-001, -002, -003 an agent that needs credentials says so in a task',
  'AUTH-INTASK-003': 'AUTH-INTASK-001, -002, -003 an agent that needs credentials says so in a task',
  'AUTH-INTASK-004': 'AUTH-INTASK-004, -006 what was asked for comes by another way',
}

test.each(Object.entries(musts))('%s is held by a test: %s', (_, title) => {
  const quoted = new RegExp(`['"\`]${title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}`)
  expect(sources.some(source => quoted.test(source))).toBe(true)
})

test('each requirement is either held or named as one that is not', () => {
  expect(Object.keys(musts).filter(id => notHere.includes(id))).toEqual([])
})

/** The rows of a2a.md §4.5 by how many there are of each kind. */
const rows = { E: 22, V: 8, M: 22, T: 14, S: 8, P: 13, A: 21, C: 11 } as const

test.each(Object.entries(rows))('every row %s is named by a test', (kind, count) => {
  const all = Array.from({ length: count }, (_, at) => `${kind}${String(at + 1).padStart(2, '0')}`)
  const inTitle = (id: string) => new RegExp(`['"\`]([^'"\`]*[ ,])?${id}\\b`)
  const missing = all.filter(id => !sources.some(source => inTitle(id).test(source)))
  expect(missing).toEqual([])
})
