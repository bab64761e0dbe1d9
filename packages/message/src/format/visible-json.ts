// Writes JSON and text, without invisible characters, for people who base a decision on them.

import type { Json } from './json.ts'

/** Matches characters that are invisible or change the order of others. */
const invisiblePattern = /[\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]/gu
const directionControlPattern = /[\u202a-\u202e\u2066-\u2069]/g

/**
 * Writes JSON for a person who bases a decision on it, with invisible characters as `\u` escapes. The text parses to the
 * same value.
 */
export function writeVisibleJson(json: Json, space?: number): string {
  return JSON.stringify(json, null, space).replace(invisiblePattern, writeNumbers)
}

/** Returns foreign text without the characters that could reverse the direction of our own text around it. */
export function withoutTurning(text: string): string {
  return text.replace(directionControlPattern, '\ufffd')
}

function writeNumbers(character: string): string {
  return character
    .split('')
    .map(unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}
