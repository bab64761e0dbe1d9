import { z } from 'zod'

export const portSchema = z.number().int().min(0).max(65_535)
