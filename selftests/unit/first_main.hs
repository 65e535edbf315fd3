{-# OPTIONS_GHC -fomit-interface-pragmas #-}
-- SPDX-License-Identifier: GPL-2.0-only
-- A loop that has no symbol, and is the first Haskell code of the program, for
-- cli_test.sh.
module Main (main) where

spin :: Int -> Int -> Int
spin 0 acc = acc
spin n acc = spin (n - 1) (acc `rem` (n + 9) * 3 + 1)
{-# NOINLINE spin #-}

main :: IO ()
main = print (spin 2000000000 1)
