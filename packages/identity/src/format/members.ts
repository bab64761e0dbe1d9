import { z } from 'zod'

/** Characters that two readers could read differently (controls, blanks, invisible characters). No name contains them. */
const plain = /^[^\p{C}\p{Z}]+$/u

/** `.` and `..` would let a path begin with a prefix and name something outside of it. */
const dotSegment = /(^|[/:])\.\.?([/:]|$)/

/** A method, an assurance, the name of a key. */
export const nameSchema = z.string().min(1).max(256).regex(plain)

export const subjectSchema = z
  .string()
  .min(1)
  .max(512)
  .regex(plain)
  .refine(subject => !dotSegment.test(subject))

export const principalsSchema = z.array(subjectSchema).max(16)

const timePattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/

/** An RFC 3339 time with its zone. */
export const timeSchema = z
  .string()
  .max(40)
  .refine(text => timePattern.test(text) && !Number.isNaN(Date.parse(text)))

/** Any object that is no array. */
export const objectSchema = z.record(z.string(), z.unknown())
