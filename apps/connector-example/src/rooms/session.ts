// Issues and checks the session cookies and form tokens of people in the chat room.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { parseJsonText, Rejection } from '@postern/message'

/** A person at one browser. `name` is what they call themselves; nobody else ever has the same `id`. */
export interface RoomPerson {
  readonly id: string
  readonly name: string
}

const sessionLifetimeMs = 24 * 3_600_000
const maxNameLength = 32
/** Matches letters, digits and the marks that people use in names; no `@`, which begins an agent's address, and nothing invisible. */
const namePattern = /^(?!.*@)[\p{L}\p{M}\p{N}\p{P}\p{S} ]+$/u

/** Creates a person with a random id from a valid name. @throws Rejection `malformed` */
export function createPerson(nickname: string): RoomPerson {
  const name = nickname.normalize('NFC').trim().replace(/ +/g, ' ')
  if (name === '' || [...name].length > maxNameLength || !namePattern.test(name)) {
    throw new Rejection('malformed', `A name has up to ${maxNameLength} letters, figures and marks, and no @`)
  }
  const slug = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
  return { name, id: `${slug || 'person'}-${randomBytes(8).toString('hex')}` }
}

export interface Sessions {
  /** Issues the value of a cookie that identifies this browser. */
  issue(person: RoomPerson): string
  /** Reads a cookie. Returns undefined for one that is foreign or expired. */
  readPerson(cookie: string | undefined): RoomPerson | undefined
  /** Returns the token that the person's forms must contain. */
  formToken(person: RoomPerson): string
  /** Checks the token of a form. @throws Rejection `forbidden` */
  checkForm(person: RoomPerson, token: string): void
}

export function createSessions(secret: Uint8Array, now: () => number): Sessions {
  const computeMac = (purpose: string, text: string) =>
    createHmac('sha256', secret).update(`${purpose}\n${text}`).digest('base64url')
  const formToken = ({ id }: RoomPerson) => computeMac('form', id)

  return {
    issue({ id, name }) {
      const encodedPayload = Buffer.from(JSON.stringify({ id, name, until: now() + sessionLifetimeMs })).toString(
        'base64url',
      )
      return `${encodedPayload}.${computeMac('session', encodedPayload)}`
    },
    readPerson(cookie = '') {
      const [text = '', signature = '', ...otherParts] = cookie.split('.')
      if (otherParts.length > 0 || !isSame(signature, computeMac('session', text))) return undefined
      const { id, name, until } = parseJsonText(Buffer.from(text, 'base64url').toString()) as RoomPerson & {
        until: number
      }
      return now() < until ? { id, name } : undefined
    },
    formToken,
    checkForm(person, token) {
      if (!isSame(token, formToken(person))) throw new Rejection('forbidden', 'This form is not from here')
    },
  }
}

function isSame(actual: string, expected: string): boolean {
  const [actualBytes, expectedBytes] = [Buffer.from(actual), Buffer.from(expected)]
  return actualBytes.length === expectedBytes.length && timingSafeEqual(actualBytes, expectedBytes)
}
