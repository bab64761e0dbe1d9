// Creates cases of every kind.
import { mutateBytes } from '../mutate/bytes.ts'
import { makeOddText } from '../values/odd-values.ts'
import type { Random } from '../values/random.ts'
import type { CredentialName, FuzzCase } from './case.ts'
import type { CaseContext } from './context.ts'
import type { Endpoint, GrpcEndpoint } from './endpoints.ts'
import { makeHttpCase } from './make-http.ts'
import { makeMailCase } from './make-mail.ts'
import type { WireField } from './seeds.ts'
import { writeMessage } from './write-message.ts'

/** Creates a more or less odd request for this endpoint. */
export function makeCase(endpoint: Endpoint, random: Random, context: CaseContext): FuzzCase {
  if (endpoint.kind === 'mail') return makeMailCase(endpoint, random, context.seeds.mails)
  if (endpoint.kind === 'grpc') return makeGrpcCase(endpoint, random, context)
  return makeHttpCase(endpoint, random, context)
}

function makeGrpcCase({ name, seeds }: GrpcEndpoint, random: Random, { ids }: CaseContext): FuzzCase {
  const fields = random.pick(seeds).fields.map(field => changeField(field, random, ids))
  const message = writeMessage(fields)
  const bytes = random.chance(0.4) ? mutateBytes(message, random) : message
  const credential: CredentialName = random.chance(0.9) ? 'a2a' : 'none'
  const head = Buffer.alloc(5)
  head[0] = random.chance(0.03) ? 1 : 0
  head.writeUInt32BE(random.chance(0.05) ? random.integerBelow(2 ** 31) : bytes.length, 1)
  const headers = { 'a2a-version': random.chance(0.95) ? '1.0' : 'x' }
  return { kind: 'grpc', endpoint: name, credential, headers, body: Buffer.concat([head, bytes]) }
}

function changeField([fieldNumber, value]: WireField, random: Random, ids: readonly string[]): WireField {
  const seedNumber = random.chance(0.05) ? random.integerBelow(20) + 1 : fieldNumber
  if (Array.isArray(value)) return [seedNumber, value.map(field => changeField(field as WireField, random, ids))]
  if (random.chance(0.8)) return [seedNumber, value]
  if (typeof value === 'number') return [seedNumber, random.pick([0, 1, 2 ** 31 - 1, 2 ** 32 - 1, 99])]
  return [seedNumber, ids.length > 0 && random.chance(0.5) ? random.pick(ids) : makeOddText(random)]
}
