// Binds the template syntax of htm to the elements of Preact.
import htm from '../../vendor/htm.js'
import { h } from '../../vendor/preact.js'

/** The template function of the screens. Every value becomes text or an attribute; nothing is ever parsed as markup. */
export const html = htm.bind(h)
