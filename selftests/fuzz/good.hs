-- SPDX-License-Identifier: GPL-2.0-only
-- A program with something of everything that the image builder looks at.
{-# LANGUAGE ForeignFunctionInterface #-}
module Main (main) where

import qualified Data.Map.Strict as Map
import Foreign.C.Types

foreign import ccall safe "math.h sin" safeSin :: CDouble -> CDouble
foreign import ccall unsafe "math.h cos" unsafeCos :: CDouble -> CDouble

data Shape = Dot | Line Int | Box Int Int | Blob Int Int Int Int Int Int Int

area :: Shape -> Int
area Dot = 0
area (Line _) = 1
area (Box a b) = a * b
area (Blob a b c d e f g) = sum [a, b, c, d, e, f, g]
{-# NOINLINE area #-}

many :: Int -> Int -> Int -> Int -> Int -> Int -> Int -> Int -> Int
many 0 b c d e f g h = b + c + d + e + f + g + h
many a b c d e f g h = many (a - 1) h b c d e f g + 1
{-# NOINLINE many #-}

count :: [Int] -> Map.Map Int Int
count = foldr (\k -> Map.insertWith (+) (k `mod` 7) 1) Map.empty
{-# NOINLINE count #-}

main :: IO ()
main = do
  print (map area [Dot, Line 2, Box 3 4, Blob 1 2 3 4 5 6 7])
  print (many 5 1 2 3 4 5 6 7)
  print (count [1 .. 100])
  print (safeSin 1 + unsafeCos 1)
