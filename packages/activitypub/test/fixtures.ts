// Reads the fixtures of ActivityPub.
import { readFileSync } from 'node:fs'

/** Reads a JSON file of `fixtures/activitypub`. */
export function readFixture<Shape>(path: string): Shape {
  return JSON.parse(readFileSync(new URL(`../../../fixtures/activitypub/${path}`, import.meta.url), 'utf8')) as Shape
}
